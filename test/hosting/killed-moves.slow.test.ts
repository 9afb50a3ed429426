/** A worker is killed at every step of a move. The account ends on one node, complete, and its site stays online. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startMove } from "#hosting/moves/move.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";
import { upload } from "../harness/site.ts";
import { holdAt } from "../orders/hold.ts";
import { startWithWorkers } from "../orders/worker-process.ts";
import { assertRoomIsKept, comes, filesOf, ftpOf, pageOf } from "./move-stage.ts";
import { password } from "./stage.ts";

test("a move ends correctly when its worker is killed", async (t) => {
  const second = await startTestNode();
  t.after(() => second.close());
  const { gateway, start } = await startWithWorkers(t, { node: true });
  const { context, databaseUrl, node: first } = gateway;
  assert.ok(first);
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  let worker = await start();

  const create = async (identifier: string) => {
    const body = { servicepack_id: pack, identifier, password };
    const reply = await gateway.send(reseller, "POST", "/hostingaccounts", { body });
    assert.equal(reply.status, 202, reply.text);
    assert.equal((await gateway.settled(reseller, reply.headers.location ?? "")).status, "Ready");
    for (const name of ["index.html", "a.txt", "b.txt"]) {
      await upload(ftpOf(first), identifier, password, `/www/${name}`, `${identifier} ${name}`);
    }
  };
  const becomes = (state: string) => `NEW.state = '${state}' AND OLD.state <> NEW.state`;
  const points = [
    { name: "while files are copied", when: "NEW.files_done = 1", isCommitted: true },
    { name: "before FTP is closed", when: becomes("Freezing"), isCommitted: false },
    { name: "after FTP is closed", when: becomes("Finishing"), isCommitted: true },
    { name: "before the switch", when: becomes("Leaving"), isCommitted: false },
    { name: "after the switch", when: becomes("Leaving"), isCommitted: true },
    { name: "before it has left", when: becomes("Moved"), isCommitted: false },
  ].map((point, number) => ({ ...point, identifier: `killed-${number}.move.example` }));
  // The second node is added later, so that all accounts begin on the first.
  for (const { identifier } of points) await create(identifier);
  await gateway.addNode(second, { id: "second" });

  for (const { name, when, isCommitted, identifier } of points) {
    await t.test(name, async (step) => {
      const hold = await holdAt(step, databaseUrl, { table: "hosting_moves", on: "UPDATE", when });
      const { moveId } = await startMove(context, { identifier, to: "second", graceSeconds: 0 });
      await hold.reached();
      await worker.kill();
      const served = await Promise.all([first, second].map((node) => pageOf(node, identifier)));
      assert.ok(
        served.some(({ body }) => body === `${identifier} index.html`),
        "its site is served all the time",
      );
      await (isCommitted ? hold.release() : hold.rollBack());
      worker = await start();
      await comes(context, moveId, "Moved");
      assert.equal(await first.driver.find(identifier), undefined);
      const there = (await second.driver.list()).filter((found) => found.identifier === identifier);
      assert.equal(there.length, 1);
      assert.equal((await filesOf(second, there[0]?.uid ?? 0)).length, 3);
      await upload(ftpOf(second), identifier, password, "/www/new.txt", "new");
      assert.equal((await pageOf(second, identifier, "/new.txt")).body, "new");
      await assertRoomIsKept(databaseUrl);
    });
  }
});
