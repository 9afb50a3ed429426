import assert from "node:assert/strict";
import { after, test } from "node:test";
import { applyAccountEvent, findAccount, requestChange } from "#hosting/accounts/accounts.ts";
import {
  type HostingStatus,
  hostingEvents,
  hostingStatuses,
  nextHostingStatus,
  requestedChanges,
} from "#hosting/accounts/states.ts";
import { runSql } from "../harness/sql.ts";
import { startHostingStage } from "./stage.ts";

// Every event and every requested change in every status: the database does what the table says.

const stage = await startHostingStage({ after }, { worker: false });
const { context, databaseUrl } = stage.gateway;
let made = 0;

async function accountIn(status: HostingStatus): Promise<number> {
  made += 1;
  const id = await stage.create(`walk-${made}.example`);
  await runSql(databaseUrl, "UPDATE hosting_accounts SET status = $2 WHERE id = $1", [id, status]);
  return id;
}
const read = async (id: number) => (await findAccount(context.database, id)) ?? assert.fail();

for (const status of hostingStatuses) {
  test(`an event of an account in ${status} leads where the table says, or is refused`, async () => {
    for (const event of hostingEvents) {
      const id = await accountIn(status);
      const account = await read(id);
      const next = nextHostingStatus(status, event);
      const apply = () => context.database.transaction((tx) => applyAccountEvent(context, tx, account, { event }));
      if (next) assert.equal((await apply())?.status, next, event);
      else await assert.rejects(apply(), /has no transition/, event);
      assert.equal((await read(id)).status, next ?? status, event);
    }
  });

  test(`a change requested of an account in ${status} counts its versions up and makes it due, or does nothing`, async () => {
    for (const change of requestedChanges) {
      const id = await accountIn(status);
      const later = "UPDATE hosting_accounts SET next_step_at = now() + interval '1 hour' WHERE id = $1";
      await runSql(databaseUrl, later, [id]);
      const before = await read(id);
      const isPossible = nextHostingStatus(status, change) !== undefined;
      const isAccepted = await context.database.transaction((tx) => requestChange(context, tx, id, change));
      assert.equal(isAccepted, isPossible, change);
      const { status: then, wanted_version, version } = await read(id);
      assert.deepEqual([then, wanted_version - before.wanted_version], [status, isPossible ? 1 : 0], change);
      assert.equal(version > before.version, isPossible, change);
      const due = "SELECT FROM hosting_accounts WHERE id = $1 AND next_step_at <= now()";
      assert.equal((await runSql(databaseUrl, due, [id])).length, isPossible ? 1 : 0, change);
    }
  });
}

test("an event of a step is not written when a change was requested meanwhile", async () => {
  const id = await accountIn("Ready");
  const account = await read(id);
  await context.database.transaction((tx) => requestChange(context, tx, id, "password-wanted"));
  const late = await context.database.transaction((tx) =>
    applyAccountEvent(context, tx, account, { event: "applied" }),
  );
  assert.equal(late, undefined);
  assert.ok((await read(id)).applied_version < (await read(id)).wanted_version);
});

test("after its removal was requested an account accepts no other change", async () => {
  const id = await accountIn("Ready");
  await runSql(databaseUrl, "UPDATE hosting_accounts SET removal_requested_at = now() WHERE id = $1", [id]);
  for (const change of requestedChanges) {
    assert.equal(await context.database.transaction((tx) => requestChange(context, tx, id, change)), false, change);
  }
});
