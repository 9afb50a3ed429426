/** A server whose processes stand still, as on a machine that is frozen: its kernel still accepts connections and keeps them. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { type TestContext, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { systemClock } from "#lib/clock.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import type { SignedRequestOptions } from "../harness/signed-request.ts";
import { startOwnServer } from "../harness/standby.ts";

/** Half of a statement's limit. In service it takes 3 s. */
const silenceMsMax = 5_000;

const calls: [string, string, SignedRequestOptions?][] = [
  ["GET", "/domains"],
  ["GET", "/domains/a.example"],
  ["GET", "/orders/CHG-00000000-000"],
  ["GET", "/domains/availability?names=a.example"],
  ["POST", "/domains/registrations", { body: { domain_name: "a.example" } }],
  ["GET", "/hostingaccounts"],
];

async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

async function start(t: TestContext) {
  const stopped: number[] = [];
  const go = () => {
    for (const pid of stopped.splice(0)) process.kill(pid, "SIGCONT");
  };
  // Before the server's own hook: one that stands still cannot be ended.
  t.after(go);
  const server = await startOwnServer(t);
  await migrate(server.url);
  const gateway = await startTestGateway(t, { databaseUrl: server.url });
  const reseller = await gateway.addReseller();
  return {
    gateway,
    sendAll: () =>
      Promise.all(calls.map(([method, target, options]) => gateway.send(reseller, method, target, options))),
    /** One after the other, so that they need no new connection. */
    async reads() {
      const statuses: number[] = [];
      for (const [method, target] of calls.filter(([each]) => each === "GET")) {
        statuses.push((await gateway.send(reseller, method, target)).status);
      }
      return statuses;
    },
    order: () => gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "back.example" } }),
    settled: (location: string) => gateway.settled(reseller, location),
    stop(pids: number[]) {
      stopped.push(...pids);
      for (const pid of pids) process.kill(pid, "SIGSTOP");
    },
    go,
    server,
  };
}

test("while all of the server stands still every request is 503, and when it goes on an order is carried out", async (t) => {
  const { server, sendAll, stop, go, order, settled } = await start(t);
  await sendAll();
  stop([server.pid, ...(await childrenOf(server.pid))]);
  for (const round of ["in progress", "new"]) {
    const sentMs = systemClock.monotonicMs();
    for (const reply of await sendAll()) assertError(reply, "service_unavailable");
    const tookMs = systemClock.monotonicMs() - sentMs;
    t.diagnostic(`${round} requests: ${Math.round(tookMs)} ms`);
    assert.ok(tookMs < silenceMsMax, `${tookMs} ms for ${round} requests`);
  }
  const wentOnMs = systemClock.monotonicMs();
  go();
  while ((await sendAll()).some(({ status }) => status === 503));
  t.diagnostic(`served again after ${Math.round(systemClock.monotonicMs() - wentOnMs)} ms`);
  let reply = await order();
  while (reply.status !== 202) reply = await order();
  assert.equal((await settled(reply.headers.location!)).status, "Finished");
});

test("while only the postmaster stands still, requests are served on the connections that are open", async (t) => {
  const { server, reads, stop, go } = await start(t);
  const before = await reads();
  stop([server.pid]);
  assert.deepEqual(await reads(), before);
  go();
});
