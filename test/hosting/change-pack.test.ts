import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import { changePack } from "#hosting/accounts/change-pack.ts";
import { startMove } from "#hosting/moves/move.ts";
import { runSql } from "../harness/sql.ts";
import { assertRoomIsKept } from "./move-stage.ts";
import { eventually, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { worker: false, diskBytesMax: 1_000_000 });
const { gateway } = stage;
const { context, databaseUrl } = gateway;

test("concurrent changes of packs do not exceed a reseller's disk limit", async (t) => {
  const identifiers = ["first.example", "second.example"];
  for (const identifier of identifiers) await stage.ready(identifier);
  const larger = Number(await gateway.addPack({ diskBytesMax: 2_000_000 }));
  await runSql(databaseUrl, "UPDATE resellers SET hosting_bytes_max = 3000000");
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  t.after(() => holder.end());
  // Both have read the reseller's limit before either can write.
  await holder.query("BEGIN; SELECT FROM hosting_nodes FOR UPDATE");
  const changes = identifiers.map((identifier) => changePack(context, identifier, larger));
  const outcomes = Promise.allSettled(changes);
  await eventually("both wait", async () => {
    const waiting = `SELECT DISTINCT pid FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
      WHERE NOT waiting.granted AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    return (await runSql(databaseUrl, waiting)).length === 2;
  });
  await holder.query("COMMIT");
  const refusals = (await outcomes).flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
  assert.deepEqual(refusals.map(String), [
    "OperatorError: its owner's accounts together would exceed their disk limit",
  ]);
  await assertRoomIsKept(databaseUrl);
  await runSql(databaseUrl, "UPDATE resellers SET hosting_bytes_max = 1000000000");
});

test("an account's pack cannot be changed while the account is copied to another node", async () => {
  const identifier = "moves.example";
  await stage.ready(identifier);
  const smaller = Number(await gateway.addPack({ diskBytesMax: 500_000 }));
  await gateway.addNode(stage.node, { id: "second" });
  await startMove(context, { identifier, to: "second", graceSeconds: 0 });
  await assert.rejects(changePack(context, identifier, smaller), /it is being moved to another node: /);
  await runSql(databaseUrl, "UPDATE hosting_moves SET state = 'Returned', ended_at = now()");
  await changePack(context, identifier, smaller);
});
