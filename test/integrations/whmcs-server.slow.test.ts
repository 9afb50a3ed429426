/** The server module for WHMCS, on a real hosting node. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { suspendAccount } from "#hosting/accounts/suspend.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createWhmcs, installModules, skip } from "./panel.ts";

const gateway = await startTestGateway({ after }, { node: true });
const folder = installModules({ after }, "whmcs");
const pack = await gateway.addPack();
const password = "Quiet-Harbour-71";
const stage = async (identifier: string) => {
  const reseller = await gateway.addReseller();
  const row = { id: 3, server: 1, domain: identifier, domainstatus: "Active" };
  const whmcs = createWhmcs(folder, gateway, reseller, { tblhosting: [row] });
  const call = (name: string, params: object = {}) =>
    whmcs.server(name, identifier, { configoption1: pack, password, ...params });
  return { reseller, whmcs, call };
};

test("creates an account once, and notes its user name", { skip }, async () => {
  const { reseller, whmcs, call } = await stage("first.example");
  for (const answer of await Promise.all([call("CreateAccount"), call("CreateAccount")]))
    assert.equal(answer, "success");
  assert.equal(await call("CreateAccount"), "success");
  const { body } = await gateway.send(reseller, "GET", "/hostingaccounts");
  assert.equal((body as unknown as unknown[]).length, 1);
  assert.equal(whmcs.read("tblhosting")[0]!.username, "first.example");
  whmcs.write({ tblhosting: [{ id: 3, server: 1, domain: "first.example", domainstatus: "Active" }] });
  assert.match(String(await call("CreateAccount", { serviceid: 4 })), /not created for this service/);
  for (const action of ["TerminateAccount", "ChangePassword"]) {
    assert.match(String(await call(action, { serviceid: 4 })), /belongs to another service of this panel/);
  }
});

test("a refused password can be replaced, and changed later", { skip }, async () => {
  const { call } = await stage("password.example");
  assert.match(String(await call("CreateAccount", { password: "password" })), /^Deedhouse refused this: .*password/);
  assert.equal(await call("CreateAccount"), "success");
  assert.equal(await call("ChangePassword", { password: "Other-Harbour-72" }), "success");
  assert.match(String(await call("ChangePassword", { password: "short" })), /password/);
  // A repeat leaves the password alone.
  assert.equal(await call("CreateAccount", { password: "Third-Harbour-73" }), "success");
});

test("a terminated account can be created again at once", { skip }, async () => {
  const { reseller, call } = await stage("again.example");
  assert.equal(await call("CreateAccount"), "success");
  for (let round = 0; round < 2; round++) {
    assert.equal(await call("TerminateAccount"), "success");
    assert.equal(await call("TerminateAccount"), "success");
    for (const answer of await Promise.all([call("CreateAccount"), call("CreateAccount")]))
      assert.equal(answer, "success");
  }
  const { body } = await gateway.send(reseller, "GET", "/hostingaccounts/again.example");
  const { status, removal_requested_at: removal } = body as Record<string, unknown>;
  assert.deepEqual([status, removal], ["Ready", undefined]);
});

test("a suspended account is off, and back when it is unsuspended", { skip }, async () => {
  const { reseller, call } = await stage("unpaid.example");
  assert.equal(await call("CreateAccount"), "success");
  const read = async () => {
    const { body } = await gateway.send(reseller, "GET", "/hostingaccounts/unpaid.example");
    return body as { status: string; suspensions?: { reason?: string }[] };
  };
  const suspendreason = `The invoice\nis not paid. ${"Pay it, please. ".repeat(20)}`;
  // A repeat finds it so.
  for (let round = 0; round < 2; round++) {
    assert.equal(await call("SuspendAccount", { suspendreason }), "success");
    const { status, suspensions } = await read();
    assert.equal(status, "Suspended");
    assert.match(suspensions![0]!.reason!, /^The invoice is not paid\. .{170,180}$/);
  }
  for (let round = 0; round < 2; round++) {
    assert.equal(await call("UnsuspendAccount"), "success");
    assert.equal((await read()).status, "Ready");
  }
  for (const action of ["SuspendAccount", "UnsuspendAccount"])
    assert.match(String(await call(action, { serviceid: 4 })), /belongs to another service of this panel/);
});

test("an account that its operator has suspended, too, stays off, and WHMCS shows why", { skip }, async () => {
  const { call } = await stage("operated.example");
  assert.equal(await call("CreateAccount"), "success");
  assert.equal(await call("SuspendAccount"), "success");
  await suspendAccount(gateway.context, "operated.example", "abuse");
  assert.match(
    String(await call("UnsuspendAccount")),
    /^Your suspension of operated\.example is lifted, but its operator/,
  );
  assert.match(String(await call("UnsuspendAccount")), /hostingaccount_suspended_by_operator/);
});

test("the server sync of WHMCS gets all accounts, with their packs and statuses", { skip }, async () => {
  const { reseller, whmcs, call } = await stage("a-0.example");
  // More than a page of the service.
  const names = Array.from({ length: 27 }, (_, index) => `a-${index}.example`);
  for (const identifier of names)
    await gateway.send(reseller, "POST", "/hostingaccounts", { body: { servicepack_id: pack, identifier, password } });
  const ready = (identifier: string) => gateway.settled(reseller, `/hostingaccounts/${identifier}`);
  await Promise.all(names.map(ready));
  assert.equal(await whmcs.server("TerminateAccount", "a-1.example"), "success");
  assert.equal(await call("SuspendAccount"), "success");
  const { success, accounts } = (await call("ListAccounts")) as unknown as { success: boolean; accounts: object[] };
  assert.equal(success, true);
  const listed = accounts as Record<string, string>[];
  const domains = names.filter((name) => name !== "a-1.example").sort();
  assert.deepEqual(listed.map(({ domain }) => domain).sort(), domains);
  const { created, primaryip, ...account } = listed.find(({ domain }) => domain === "a-0.example")!;
  assert.deepEqual(account, {
    email: "",
    username: "a-0.example",
    domain: "a-0.example",
    uniqueIdentifier: "a-0.example",
    product: pack,
    status: "Suspended",
  });
  assert.match(created!, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  assert.equal(primaryip, "127.0.0.1");
  assert.equal(listed.find(({ domain }) => domain === "a-2.example")!.status, "Active");
  assert.deepEqual(Object.keys(await call("ListAccounts", { serverpassword: "wrong" })), ["success", "error"]);
});

test("notes what accounts use", { skip }, async () => {
  const { whmcs, call } = await stage("usage.example");
  assert.equal(await call("CreateAccount"), "success");
  assert.equal(await call("UsageUpdate"), "success");
  const [row] = whmcs.read("tblhosting");
  assert.equal(row!.disklimit, 0);
  assert.ok(row!.lastupdate);
});

test("says what it cannot do", { skip }, async () => {
  const { call } = await stage("cannot.example");
  assert.equal(await call("CreateAccount"), "success");
  assert.equal(await call("ChangePackage"), "success");
  assert.match(
    String(await call("ChangePackage", { configoption1: "999999" })),
    /no change of an account's service pack/,
  );
});

test("the connection test fails with a wrong secret", { skip }, async () => {
  const { call } = await stage("connection.example");
  assert.deepEqual(await call("TestConnection"), { success: true, error: "" });
  const { success, error } = await call("TestConnection", { serverpassword: "wrong" });
  assert.equal(success, false);
  assert.match(String(error), /signature/);
});
