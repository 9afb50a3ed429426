import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import dns from "node:dns";
import { once } from "node:events";
import { connect } from "node:net";
import type { TestContext } from "node:test";
import { test } from "node:test";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";

const waitMs = 30_000;
/** How many connections a listener with the smallest backlog accepts while its process is stopped: Linux adds one. */
const backlog = 1;
const queuedMax = backlog + 1;

/** Forwards to a port, but blocks first: meanwhile its queue is full and Linux drops further SYNs. */
const relay = `
  const { connect, createServer } = require("node:net");
  const [to] = process.argv.slice(1).map(Number);
  const server = createServer((socket) => {
    const onward = connect(to, "127.0.0.1");
    socket.on("error", () => {}).pipe(onward).on("error", () => {}).pipe(socket);
  });
  server.listen({ port: 0, host: "127.0.0.1", backlog: ${backlog} }, () => {
    require("node:fs").writeSync(1, String(server.address().port));
    process.kill(process.pid, "SIGSTOP");
  });
`;

/** A route to the port that takes a second, because the first SYN is lost. @returns its port, and a function that unblocks it */
async function startSlowWay(context: TestContext, to: number): Promise<{ port: number; moveOn: () => void }> {
  const child = spawn(process.execPath, ["-e", relay, String(to)], { stdio: ["ignore", "pipe", "inherit"] });
  context.after(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  const [line] = await once(child.stdout, "data");
  const port = Number(line);
  const queued = Array.from({ length: queuedMax }, () => connect(port, "127.0.0.1").on("error", () => {}));
  await Promise.all(queued.map((socket) => once(socket, "connect")));
  const moveOn = () => {
    for (const socket of queued) socket.destroy();
    child.kill("SIGCONT");
  };
  context.after(moveOn);
  return { port, moveOn };
}

const skip = process.platform !== "linux" && "not Linux";

test("a registry is reached at a slow address when its other address fails", { skip }, async (context) => {
  const { standIn } = await startFixture(context);
  const way = await startSlowWay(context, standIn.port);
  const addresses = [
    { address: "127.0.0.1", family: 4 },
    { address: "::1", family: 6 },
  ];
  const { pool } = await startFixture(context, { host: "epp.example", port: way.port });
  context.mock.method(dns, "lookup", (_host: string, _options: object, found: (...answer: unknown[]) => void) => {
    found(null, addresses);
    setImmediate(way.moveOn);
  });
  (await pool.acquire("check", { waitMs })).release();
  assert.equal(count(standIn, "login"), 1);
});
