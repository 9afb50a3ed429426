import assert from "node:assert/strict";
import { after, test } from "node:test";
import { findAccount, happenToAccount } from "#hosting/accounts/accounts.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import {
  type HostingStatus,
  hostingEvents,
  hostingStatuses,
  hostingWishes,
  nextHostingStatus,
} from "#hosting/accounts/states.ts";
import { runSql } from "../harness/sql.ts";
import { startHostingStage } from "./stage.ts";

// Every state, and everything that can happen or be wished in it, in the database as the table says.

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
  test(`what can happen to an account in ${status} leads where the table says, and nothing else can`, async () => {
    for (const event of hostingEvents) {
      const id = await accountIn(status);
      const account = await read(id);
      const next = nextHostingStatus(status, event);
      const happen = () => context.database.transaction((tx) => happenToAccount(context, tx, account, { event }));
      if (next) assert.equal((await happen())?.status, next, event);
      else await assert.rejects(happen(), /has no transition/, event);
      assert.equal((await read(id)).status, next ?? status, event);
    }
  });

  test(`what can be wished of an account in ${status} counts its versions up and makes it due, or does nothing`, async () => {
    for (const event of hostingWishes) {
      const id = await accountIn(status);
      const later = "UPDATE hosting_accounts SET next_step_at = now() + interval '1 hour' WHERE id = $1";
      await runSql(databaseUrl, later, [id]);
      const before = await read(id);
      const isPossible = nextHostingStatus(status, event) !== undefined;
      const isTaken = await context.database.transaction((tx) => changeAccount(context, tx, id, { event }));
      assert.equal(isTaken, isPossible, event);
      const { status: then, wanted_version, version } = await read(id);
      assert.deepEqual([then, wanted_version - before.wanted_version], [status, isPossible ? 1 : 0], event);
      assert.equal(version > before.version, isPossible, event);
      const due = "SELECT FROM hosting_accounts WHERE id = $1 AND next_step_at <= now()";
      assert.equal((await runSql(databaseUrl, due, [id])).length, isPossible ? 1 : 0, event);
    }
  });
}

test("what was found out about an account that shall be otherwise by now is not written", async () => {
  const id = await accountIn("Ready");
  const account = await read(id);
  await context.database.transaction((tx) => changeAccount(context, tx, id, { event: "password-wanted" }));
  const late = await context.database.transaction((tx) => happenToAccount(context, tx, account, { event: "applied" }));
  assert.equal(late, undefined);
  assert.ok((await read(id)).applied_version < (await read(id)).wanted_version);
});

test("after the wish to be gone an account takes no other", async () => {
  const id = await accountIn("Ready");
  await runSql(databaseUrl, "UPDATE hosting_accounts SET removal_requested_at = now() WHERE id = $1", [id]);
  for (const event of hostingWishes) {
    assert.equal(await context.database.transaction((tx) => changeAccount(context, tx, id, { event })), false, event);
  }
});
