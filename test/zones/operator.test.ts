import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { assertCode, assertStatus, ourServers, startZoneStage, zoneName } from "./stage.ts";

const aRecord = [{ subname: "www", type: "A", records: ["192.0.2.1"] }];
const left = "left.example";

test("an operator sees the zones of all accounts, what is in one, and ends one that leaves", async (t) => {
  const { gateway, enter, leave, call, reseller, rows } = await startZoneStage(t);
  const other = await gateway.addReseller();
  await enter(zoneName, undefined, ourServers);
  await enter(left, other, ourServers);
  assertStatus(await call("PATCH", "records", aRecord), 202);
  await leave(left, "transferred");
  interface Listed {
    domain_name: string;
    reseller: string;
    state: string;
  }
  const list = async (...args: string[]) =>
    (await operated<Listed[]>(gateway, "zones", "list", ...args)).map((row) => [
      row.domain_name,
      row.reseller,
      row.state,
    ]);
  const live = [zoneName, reseller.name, "Publishing"];
  assert.deepEqual(await list(), [live, [left, other.name, "Leaving"]]);
  assert.deepEqual(await list("--state", "Leaving"), [[left, other.name, "Leaving"]]);
  assert.deepEqual(await list("--reseller", reseller.name), [live]);
  const shown = await operate(gateway, "zones", "show", zoneName);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(shown.stdout, /^www +3600 +A +192\.0\.2\.1/m);
  assert.match(shown.stdout, /^delegation +ns1\.dns\.test ns2\.dns\.test$/m);
  assert.match(shown.stdout, /^2 +\d+ .* v1/m);

  await assertRefused(gateway, ["zones", "withdraw", left], 2, /--yes/);
  await assertRefused(
    gateway,
    ["zones", "withdraw", zoneName, "--yes"],
    3,
    /is Publishing: .* who can delete its zone/,
  );
  await assertRefused(gateway, ["zones", "withdraw", "none.example", "--yes"], 4, /has no zone/);
  assert.equal((await operated(gateway, "zones", "withdraw", left, "--yes")).state, "Withdrawn");
  const [gone] = await rows(left);
  assert.deepEqual([gone?.state, gone?.ends_at, gone?.next_step_at], ["Withdrawn", null, null]);
  assertCode(await call("GET", `/domains/${left}/dns`, undefined, { of: other }), 404, "domain_not_found");
  assert.deepEqual(await list(), [live]);
  assert.deepEqual(await list("--state", "Withdrawn"), [[left, other.name, "Withdrawn"]]);
  await assertRefused(gateway, ["zones", "withdraw", left, "--yes"], 3, /is withdrawn already/);
});
