/** Kills a worker between any two steps of a hosting account's creation; the account becomes ready nevertheless. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { readPage, upload } from "../harness/site.ts";
import { type HeldChange, holdAt } from "./hold.ts";
import { until } from "./judge.ts";
import { startWithWorkers } from "./worker-process.ts";

const password = "Correct-Horse-77-battery";
const placed: HeldChange = { table: "hosting_accounts", on: "UPDATE", when: "NEW.node_id IS NOT NULL" };
const ready: HeldChange = { table: "hosting_accounts", on: "UPDATE", when: "NEW.status = 'Ready'" };

async function place(gateway: TestGateway, reseller: TestReseller, pack: string, identifier: string): Promise<string> {
  const body = { servicepack_id: pack, identifier, password };
  const reply = await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  assert.equal(reply.status, 202, reply.text);
  return reply.headers.location ?? "";
}

test("a hosting account becomes ready although its worker is killed", async (t) => {
  const { gateway, start } = await startWithWorkers(t, { node: true });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  let worker = await start();

  async function assertWorks(location: string, identifier: string): Promise<void> {
    worker = await start();
    const account = await gateway.settled(reseller, location);
    assert.equal(account.status, "Ready");
    assert.ok(gateway.node);
    const { ftpPort, webPort } = gateway.node.ports;
    await upload({ host: "127.0.0.1", port: ftpPort }, identifier, password, "/www/index.html", location);
    assert.equal((await readPage({ host: "127.0.0.1", port: webPort }, identifier, "/index.html")).body, location);
    assert.equal((await gateway.node.driver.list()).filter((found) => found.identifier === identifier).length, 1);
  }

  const points = [
    { name: "before its node is chosen", change: placed, isCommitted: false },
    { name: "after its node is chosen", change: placed, isCommitted: true },
    { name: "after the probe", change: ready, isCommitted: false },
    { name: "after the end", change: ready, isCommitted: true },
  ];
  for (const [number, { name, change, isCommitted }] of points.entries()) {
    await t.test(name, async (step) => {
      const identifier = `killed-${number}.example`;
      const hold = await holdAt(step, gateway.databaseUrl, change);
      const location = await place(gateway, reseller, pack, identifier);
      await hold.reached();
      await worker.kill();
      await (isCommitted ? hold.release() : hold.rollBack());
      await assertWorks(location, identifier);
    });
  }
  await t.test("as soon as the node has it, before or in the probe", async () => {
    const location = await place(gateway, reseller, pack, "killed-node.example");
    await until("the node has it", async () => (await gateway.node?.driver.find("killed-node.example")) !== undefined);
    await worker.kill();
    await assertWorks(location, "killed-node.example");
  });
});
