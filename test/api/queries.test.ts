import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";

/** The heartbeat of the LISTEN connection. */
const heartbeat = "SELECT 1";

test("reading a domain asks the database once", async (t) => {
  const gateway = await startTestGateway(t, { proxy: true, worker: false });
  const reseller = await gateway.addReseller();
  const read = () => gateway.send(reseller, "GET", "/domains/some.example");
  await read();
  // The key stays in the cache once the LISTEN connection is known to be alive.
  while (gateway.context.listener.aliveAsOf() === undefined) await read();
  await read();
  gateway.proxy.executed.length = 0;
  for (let times = 0; times < 10; times++) assert.equal((await read()).status, 404);
  const executed = gateway.proxy.executed.filter((statement) => statement !== heartbeat);
  assert.deepEqual(executed, Array(10).fill("domain-by-name"));
});
