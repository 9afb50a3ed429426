/** Kills a worker while it deletes a contact that nothing uses: the next one finishes, and no order meets a half-deleted contact. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ada } from "../harness/contacts.ts";
import { runSql } from "../harness/sql.ts";
import { place, until } from "../orders/judge.ts";
import { startWithWorkers } from "../orders/worker-process.ts";

const name = "people.example";

const points = [
  { at: "before-execution", execute: true, fate: "the frame arrives after its death" },
  { at: "before-execution", execute: false, fate: "the frame is lost" },
  { at: "before-answer", execute: true, fate: "the answer is lost" },
] as const;

for (const { at, execute, fate } of points) {
  test(`a worker that is killed while it deletes a contact leaves nothing behind: ${fate}`, async (t) => {
    const workers = await startWithWorkers(t, {
      profile: { renewalIntervalMs: 100, lockNewNames: false, takeoverSettleMs: 1_000 },
    });
    const { gateway } = workers;
    const { store } = gateway.registry;
    const sql = (text: string) => runSql<{ contact_id: string }>(gateway.databaseUrl, text);
    const reseller = await gateway.addReseller();
    const worker = await workers.start();
    const { location } = await place(gateway, reseller, name);
    assert.equal((await gateway.settled(reseller, location)).status, "Finished");
    const [profile] = await sql("SELECT contact_id FROM registry_contacts");
    const set = async (body: object) => {
      const reply = await gateway.send(reseller, "PUT", `/domains/${name}/contacts`, { body });
      assert.equal(reply.status, 202, reply.text);
      return gateway.settled(reseller, reply.headers.location ?? "");
    };
    assert.equal((await set({ registrant: ada, admin: ada, tech: ada })).status, "Finished");

    const hold = gateway.registry.hold({ command: "contact:delete", at, times: 1 });
    await sql(`UPDATE registry_contacts SET unused_since = now() - interval '8 days', look_at = now() - interval '1 day'
      WHERE contact_id = '${profile!.contact_id}'`);
    await hold.reached(1);
    await worker.kill();
    await hold.abandoned(1);
    assert.equal((await sql("SELECT FROM registry_contacts WHERE delete_cl_trid IS NOT NULL")).length, 1);
    await workers.start();
    const ordered = gateway.settled(reseller, (await place(gateway, reseller, "next.example")).location);
    hold.release({ execute });
    assert.equal((await ordered).status, "Finished");
    await until("no delete is left", async () => {
      return (await sql("SELECT FROM registry_contacts WHERE delete_cl_trid IS NOT NULL")).length === 0;
    });
    const { registrant } = store.domains.find("next.example")!;
    assert.equal(store.contacts.find(registrant ?? "")?.email, "rita@reseller.example");
    const deletes = store.journal.entries({ command: "contact:delete", executed: true });
    assert.equal(deletes.length, execute ? 1 : 0);
  });
}
