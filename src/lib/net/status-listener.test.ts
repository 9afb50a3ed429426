import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { createLog } from "#lib/log.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { type StatusOptions, type StatusSettings, socketFile, startStatusListener } from "#lib/net/status-listener.ts";
import { release } from "#lib/release.ts";
import { WrongSetting } from "#lib/settings.ts";

const log = createLog("test", "silent");
const loopback = ["127.0.0.0/8", "::1/128"];

async function open(t: TestContext, settings: Partial<StatusSettings>, options: Partial<StatusOptions> = {}) {
  const listener = await startStatusListener(
    { runtimeDir: undefined, host: "127.0.0.1", port: undefined, allowed: parseRanges(loopback), ...settings },
    { role: "api", whyNotReady: () => undefined, log, ...options },
  );
  t.after(() => listener.close());
  return listener;
}

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "deedhouse-status-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function ask(socketPath: string, path: string, method = "GET") {
  const [response] = await once(request({ socketPath, path, method }).end(), "response");
  return { status: response.statusCode as number, body: await text(response) };
}

test("a process says at its socket and its port whether it is ready, and why not", async (t) => {
  let problem: string | undefined = "waiting for the database";
  const runtimeDir = await folder(t);
  const whyNotReady = () => problem;
  const { ready } = await open(t, { runtimeDir, port: 0 }, { whyNotReady });
  const url = `http://127.0.0.1:${ready.statusPort}/readyz`;
  assert.deepEqual(await ask(join(runtimeDir, "api.sock"), "/readyz"), {
    status: 503,
    body: '{"status":"waiting for the database"}',
  });
  assert.equal((await fetch(url)).status, 503);
  problem = undefined;
  assert.equal((await ask(join(runtimeDir, "api.sock"), "/readyz?verbose")).status, 200);
  assert.equal((await fetch(url)).status, 200);
  const health = await ask(join(runtimeDir, "api.sock"), "/healthz");
  assert.deepEqual([health.status, JSON.parse(health.body)], [200, { status: "ok", release }]);
});

test("a question that fails makes the process not ready, with the reason", async (t) => {
  const runtimeDir = await folder(t);
  await open(t, { runtimeDir }, { whyNotReady: () => Promise.reject(new Error("the database is away")) });
  assert.deepEqual(await ask(socketFile(runtimeDir, "api"), "/readyz"), {
    status: 503,
    body: '{"status":"the database is away"}',
  });
});

test("more pages can be added, and one that fails is a 500 that says where to look", async (t) => {
  const runtimeDir = await folder(t);
  const pages = {
    "/metrics": () => ({ status: 200, contentType: "text/plain", body: "deedhouse_up 1\n" }),
    "/broken": () => Promise.reject(new Error("no")),
  };
  await open(t, { runtimeDir }, { pages });
  const path = socketFile(runtimeDir, "api");
  assert.deepEqual(await ask(path, "/metrics"), { status: 200, body: "deedhouse_up 1\n" });
  assert.equal((await ask(path, "/broken")).status, 500);
  const unknown = await ask(path, "/toString");
  assert.equal(unknown.status, 404);
  assert.match(unknown.body, /only \/healthz, \/readyz, \/metrics, \/broken/);
  assert.equal((await ask(path, "/metrics", "POST")).status, 405);
});

test("a source that is not allowed is refused at the port", async (t) => {
  const { ready } = await open(t, { port: 0, allowed: parseRanges(["192.0.2.0/24"]) });
  const answer = await fetch(`http://127.0.0.1:${ready.statusPort}/readyz`);
  assert.equal(answer.status, 403);
  assert.match(await answer.text(), /127\.0\.0\.1 is not in DEEDHOUSE_METRICS_ALLOW/);
});

test("without a folder and a port, nothing is opened", async (t) => {
  assert.deepEqual((await open(t, {})).ready, {});
});

test("an event loop that was blocked for seconds is not healthy until it is in time again", async (t) => {
  const runtimeDir = await folder(t);
  await open(t, { runtimeDir });
  const asked = ask(socketFile(runtimeDir, "api"), "/healthz");
  // The question is written before the loop is blocked, and answered after it.
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 6_000);
  const answer = await asked;
  assert.equal(answer.status, 503);
  assert.match(answer.body, /event loop was \d+ s behind/);
  for (;;) if ((await ask(socketFile(runtimeDir, "api"), "/healthz")).status === 200) break;
});

test("the socket of a process that was killed is replaced, and that of one that answers is not", async (t) => {
  const runtimeDir = await folder(t);
  const path = socketFile(runtimeDir, "api");
  const server = `require("net").createServer().listen(${JSON.stringify(path)}, () => console.log("up"))`;
  const child = spawn(process.execPath, ["-e", server], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  await once(child.stdout, "data");
  await assert.rejects(open(t, { runtimeDir }), (error: Error) => {
    assert.ok(error instanceof WrongSetting);
    assert.match(error.message, /another process already listens .*DEEDHOUSE_RUNTIME_DIR/);
    return true;
  });
  child.kill("SIGKILL");
  await exited;
  assert.ok(existsSync(path));
  const listener = await open(t, { runtimeDir });
  assert.equal((await ask(path, "/readyz")).status, 200);
  await listener.close();
  assert.ok(!existsSync(path));
});

test("a folder or a port that cannot be used is a setting's mistake", async (t) => {
  const missing = join(await folder(t), "missing");
  await assert.rejects(open(t, { runtimeDir: missing }), /cannot listen at the socket .*DEEDHOUSE_RUNTIME_DIR/);
  const { ready } = await open(t, { port: 0 });
  const taken = open(t, { port: ready.statusPort! });
  await assert.rejects(taken, /cannot listen at 127\.0\.0\.1:\d+ of DEEDHOUSE_METRICS_HOST/);
});
