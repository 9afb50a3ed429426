import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import type { EmbeddedNodeReady } from "./main.ts";

const program = (dataDir: string) => {
  const from = (name: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, name)).href);
  return `
    import { runEmbeddedNode } from ${from("main.ts")};
    import { systemClock } from ${from("../../lib/clock.ts")};
    import { systemRandom } from ${from("../../lib/random.ts")};
    import { createLog } from ${from("../../lib/log.ts")};
    import { Secret } from ${from("../../lib/secret.ts")};
    await runEmbeddedNode({
      dataDir: ${JSON.stringify(dataDir)}, host: "127.0.0.1", ftpPort: 0, webPort: 0, controlPort: 0,
      passivePorts: undefined, controlToken: new Secret("token"), siteDomain: "localhost", bareIdentifiers: true,
      clock: systemClock, random: systemRandom, log: createLog("node", "silent"),
    });
  `;
};

test("a node process says when it is ready, and ends by itself on SIGTERM, SIGINT or without its parent", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  const file = join(dataDir, "program.mjs");
  await writeFile(file, program(dataDir));
  for (const end of ["SIGTERM", "SIGINT", "disconnect"] as const) {
    const child = fork(file);
    const [ready] = (await once(child, "message")) as [EmbeddedNodeReady];
    assert.equal(ready.type, "ready");
    assert.ok(ready.ftpPort > 0 && ready.webPort > 0 && ready.controlPort > 0);
    if (end === "disconnect") child.disconnect();
    else child.kill(end);
    assert.deepEqual(await once(child, "exit"), [0, null], end);
  }
  await rm(dataDir, { recursive: true });
});
