/** The server module for WHMCS, on a real hosting node. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { eventually } from "../harness/running-system.ts";
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

test("a terminated account can be created again", { skip }, async () => {
  const { reseller, call } = await stage("again.example");
  assert.equal(await call("CreateAccount"), "success");
  assert.equal(await call("TerminateAccount"), "success");
  assert.equal(await call("TerminateAccount"), "success");
  const isGone = async () => (await gateway.send(reseller, "GET", "/hostingaccounts/again.example")).status === 403;
  await eventually("the account is gone", isGone);
  assert.equal(await call("CreateAccount"), "success");
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
  assert.match(String(await call("SuspendAccount")), /no suspension/);
  assert.match(String(await call("UnsuspendAccount")), /no suspension/);
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
