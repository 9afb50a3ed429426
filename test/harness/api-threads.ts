/** An api process with threads, which a test can end one by one. */
import { existsSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { sleep } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "./api-process.ts";
import type { Scope } from "./database.ts";
import type { TestGateway } from "./gateway.ts";

const pollMs = 5;

export interface ThreadedApi extends ApiProcess {
  /** Ends a thread, or blocks its event loop for ever. Resolves when its successor lives. */
  replace(how: "end" | "hang", thread: number): Promise<void>;
  /** A page of its socket, such as `/metrics`. */
  page(path: string): Promise<{ status: number; body: string }>;
}

export async function startThreadedApi(
  scope: Scope,
  gateway: TestGateway,
  settings: Record<string, string> = {},
): Promise<ThreadedApi> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-threads-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  const api = await startApiProcess(scope, gateway, gateway.databaseUrl, {
    DEEDHOUSE_API_THREADS: "2",
    DEEDHOUSE_RUNTIME_DIR: folder,
    DEEDHOUSE_TEST_THREADS_FOLDER: folder,
    NODE_OPTIONS: `--import ${new URL("./steered-thread.ts", import.meta.url).href}`,
    // Each refused twin counts as a failure of its source.
    DEEDHOUSE_SOURCE_FAILURES_MAX: "1000000",
    ...settings,
  });
  /** Resolves when the thread has noticed. */
  async function tell(what: "end" | "hang" | "live", thread: number): Promise<void> {
    const file = join(folder, `${what}-${thread}`);
    writeFileSync(file, "");
    while (existsSync(file)) await sleep(pollMs);
  }

  return Object.defineProperties(
    {
      async replace(how: "end" | "hang", thread: number) {
        await tell(how, thread);
        await tell("live", thread);
      },
      page: (path: string) => readPage(join(folder, "api.sock"), path),
    } as ThreadedApi,
    Object.getOwnPropertyDescriptors(api),
  );
}

function readPage(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  request({ socketPath, path }, (response) => {
    text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
  })
    .once("error", reject)
    .end();
  return promise;
}
