/** A pack's offer changes between a creation's check and its insert. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import { offerPack, retirePack, revisePack } from "#hosting/packs/manage.ts";
import { runSql } from "../harness/sql.ts";
import { eventually, password, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { worker: false, node: false });
const { gateway, reseller } = stage;
const { context, databaseUrl } = gateway;

/** POSTs an account of a pack while `lock` is held, and changes the offer before releasing it. */
async function createDuring(identifier: string, packId: string, lock: string, change: () => Promise<unknown>) {
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  try {
    await holder.query(`BEGIN; ${lock}`);
    const body = { servicepack_id: packId, identifier, password };
    const replied = gateway.send(reseller, "POST", "/hostingaccounts", { body });
    await eventually("the creation waits", async () => {
      const waiting = `SELECT FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
        WHERE NOT waiting.granted AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return (await runSql(databaseUrl, waiting)).length > 0;
    });
    await change();
    await holder.query("COMMIT");
    const { status, body: answer } = await replied;
    return [status, (answer as { error_code?: string } | undefined)?.error_code];
  } finally {
    await holder.end();
  }
}

const lockReseller = `SELECT FROM resellers WHERE id = ${reseller.id} FOR UPDATE`;

async function stored(identifier: string): Promise<string[]> {
  const sql = `SELECT servicepack_version || ' with ' || disk_quota_bytes AS pack FROM hosting_accounts WHERE identifier = $1`;
  return (await runSql<{ pack: string }>(databaseUrl, sql, [identifier])).map(({ pack }) => pack);
}

test("a pack that is retired during a creation is not sold", async () => {
  const packId = await gateway.addPack();
  const reply = await createDuring("retired.example", packId, lockReseller, () => retirePack(context, Number(packId)));
  assert.deepEqual([reply, await stored("retired.example")], [[400, "invalid_service_pack"], []]);
});

test("a pack that is being retired during a creation's insert is not sold", async () => {
  const packId = await gateway.addPack();
  const retire = `UPDATE service_packs SET retired_at = now() WHERE id = ${packId}`;
  const reply = await createDuring("retiring.example", packId, retire, async () => {});
  assert.deepEqual([reply, await stored("retiring.example")], [[400, "invalid_service_pack"], []]);
});

test("a pack that is taken off the reseller's offer during a creation is not sold", async () => {
  const packId = await gateway.addPack();
  const other = await gateway.addReseller();
  const reply = await createDuring("others.example", packId, lockReseller, () =>
    offerPack(context, Number(packId), [other.id]),
  );
  assert.deepEqual([reply, await stored("others.example")], [[400, "invalid_service_pack"], []]);
});

test("an account whose pack is revised during its creation gets the new version, within the reseller's caps", async () => {
  const packId = await gateway.addPack({ diskBytesMax: 1_000_000 });
  const revise = (diskBytesMax: number) => () => revisePack(context, Number(packId), { diskBytesMax });
  const reply = await createDuring("revised.example", packId, lockReseller, revise(2_000_000));
  assert.deepEqual([reply, await stored("revised.example")], [[202, undefined], ["2 with 2000000"]]);
  const tooMuch = await createDuring("too-large.example", packId, lockReseller, revise(10 ** 15));
  assert.deepEqual([tooMuch, await stored("too-large.example")], [[400, "bad_request"], []]);
});
