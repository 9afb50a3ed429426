import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { domainStates, stateOf } from "#domains/portfolio/state.ts";

const now = new Date("2027-01-15T00:00:00Z");
const daysFromNow = (days: number) => new Date(now.getTime() + days * 24 * 60 * 60_000);
const healthy = { statuses: ["ok"], expirationDate: daysFromNow(300), willRenew: true, transfer: undefined, now };
const request = { status: "pending", requested_at: "", gaining_registrar: "", answer_by: "" };

test("a name that works is active, locked against transfers or not", () => {
  assert.equal(stateOf(healthy), "active");
  assert.equal(stateOf({ ...healthy, statuses: ["clientTransferProhibited"] }), "active");
  assert.equal(stateOf({ ...healthy, statuses: ["serverTransferProhibited", "serverDeleteProhibited"] }), "active");
});

test("a new name without name servers says so, locked against transfers or not", () => {
  assert.equal(stateOf({ ...healthy, statuses: ["inactive"] }), "no_name_servers");
  assert.equal(stateOf({ ...healthy, statuses: ["inactive", "clientTransferProhibited"] }), "no_name_servers");
});

test("only a name that will not renew is expiring, in its last 30 days", () => {
  assert.equal(stateOf({ ...healthy, willRenew: false, expirationDate: daysFromNow(31) }), "active");
  assert.equal(stateOf({ ...healthy, willRenew: false, expirationDate: daysFromNow(30) }), "expiring");
  assert.equal(stateOf({ ...healthy, expirationDate: daysFromNow(1) }), "active");
  assert.equal(stateOf({ ...healthy, expirationDate: now }), "expired");
});

test("what threatens a name most is its state", () => {
  const cases: [statuses: string[], state: string][] = [
    [["pendingDelete", "serverHold", "inactive"], "being_deleted"],
    [["pendingTransfer", "clientHold"], "pending_transfer"],
    [["clientHold", "pendingUpdate"], "on_hold"],
    [["serverHold"], "on_hold"],
    [["pendingCreate", "inactive"], "pending_registration"],
    [["pendingRenew"], "pending_renewal"],
    [["pendingUpdate", "clientTransferProhibited"], "pending_change"],
    [["clientUpdateProhibited", "inactive"], "locked"],
    [["serverUpdateProhibited"], "locked"],
  ];
  for (const [statuses, state] of cases) assert.equal(stateOf({ ...healthy, statuses }), state, statuses.join(" "));
  assert.equal(stateOf({ ...healthy, transfer: request }), "pending_transfer");
  assert.equal(stateOf({ ...healthy, transfer: { ...request, status: "clientRejected" } }), "active");
});

test("the page of the API explains the states in the order in which they apply", async () => {
  const page = await readFile(new URL("../../../docs/api.md", import.meta.url), "utf8");
  const [, table = ""] = page.split("| state | meaning |\n");
  const explained = [...(table.split("\n\n")[0] ?? "").matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, state]) => state);
  assert.deepEqual(explained, domainStates);
});
