/**
 * A supervisor for tests to kill, or to run as another user. It starts the embedded PostgreSQL on the given folder,
 * reports success or failure in one line of JSON, and stops it when its input ends.
 */

import { createLog } from "#lib/log.ts";
import { startEmbeddedPostgres } from "#postgres/embedded.ts";

try {
  const dataDir = process.argv[2]!;
  const log = createLog("test", "silent");
  const { url, localUrl, pid, stop } = await startEmbeddedPostgres({ dataDir, port: 0, log });
  process.stdin.resume().once("end", stop);
  console.log(JSON.stringify({ url, localUrl, pid }));
} catch (error) {
  console.log(JSON.stringify({ error: String(error) }));
}
