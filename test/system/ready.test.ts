/** `deedhouse ready`: what units, containers and restarts wait for. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { createLog } from "#lib/log.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { eventually, launchTool, runTool, systemFolder } from "../harness/running-system.ts";

const folder = await systemFolder({ after });
const log = createLog("test", "silent");

async function runtimeFolder(name: string): Promise<string> {
  await mkdir(join(folder, name));
  return join(folder, name);
}

async function listen(t: TestContext, runtimeDir: string, role: string, whyNotReady: () => string | undefined) {
  const settings = { runtimeDir, host: "127.0.0.1", port: 0, allowed: parseRanges(["127.0.0.0/8"]) };
  const listener = await startStatusListener(settings, { role, whyNotReady, log });
  t.after(() => listener.close());
  return `http://127.0.0.1:${listener.ready.statusPort}`;
}

test("waits for a process that starts, at the folder of its socket", async (t) => {
  const runtime = await runtimeFolder("starting");
  const env = { ...process.env, DEEDHOUSE_RUNTIME_DIR: runtime };
  const waiting = launchTool(["ready", "--wait", "60", "--json"], { env });
  const gateway = await startTestGateway(t, { worker: false });
  await startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_RUNTIME_DIR: runtime });
  const { code, stdout, stderr } = await waiting.ended;
  assert.equal(code, 0, stderr);
  assert.deepEqual(JSON.parse(stdout), [{ place: join(runtime, "api.sock"), ready: true, text: "ready" }]);
});

test("says why a process is not ready, and waits until it is", async (t) => {
  const runtime = await runtimeFolder("late");
  let reason: string | undefined = "waiting for the database";
  let asked = 0;
  await listen(t, runtime, "worker", () => {
    asked++;
    return reason;
  });
  const now = await runTool(["ready", runtime]);
  assert.equal(now.code, 8);
  assert.match(now.stderr, /worker\.sock is not ready: waiting for the database\n.*--wait SECONDS/);
  const waiting = launchTool(["ready", join(runtime, "worker.sock"), "--wait", "60"]);
  const before = asked;
  await eventually("it asks again", () => asked > before + 1);
  reason = undefined;
  assert.equal((await waiting.ended).code, 0);
});

test("is ready only when all processes of a folder are", async (t) => {
  const runtime = await runtimeFolder("several");
  await listen(t, runtime, "api", () => undefined);
  const url = await listen(t, runtime, "worker", () => "stopping");
  assert.equal((await runTool(["ready", runtime])).code, 8);
  assert.match((await runTool(["ready", url])).stderr, /is not ready: stopping/);
});

test("asks the metrics port of the settings, and says that nobody answers there", async (t) => {
  const runtime = await runtimeFolder("port");
  const { port } = new URL(await listen(t, runtime, "api", () => undefined));
  const { RUNTIME_DIRECTORY: _, ...surroundings } = process.env;
  const env = { ...surroundings, DEEDHOUSE_METRICS_PORT: port };
  assert.equal((await runTool(["ready"], { env })).code, 0);
  const closed = await runTool(["ready", join(runtime, "none.sock")]);
  assert.equal(closed.code, 8);
  assert.match(closed.stderr, /none\.sock is not ready: it does not answer \(.*ENOENT/);
  const nowhere = await runTool(["ready"], { env: surroundings });
  assert.equal(nowhere.code, 2);
  assert.match(nowhere.stderr, /there is nothing to ask\nName a runtime folder/);
  const empty = await runTool(["ready", await runtimeFolder("empty")]);
  assert.equal(empty.code, 8);
  assert.match(empty.stderr, /no process has a socket there/);
});

test("gives up on an answer that never ends", async (t) => {
  const path = join(await runtimeFolder("endless"), "api.sock");
  const server = createServer((_request, response) => {
    const write = () => {
      while (!response.destroyed && response.write("a".repeat(64 * 1024)));
    };
    response.on("drain", write).on("error", () => {});
    write();
  });
  t.after(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  assert.match((await runTool(["ready", path])).stderr, /its answer is too long/);
});
