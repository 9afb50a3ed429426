import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistryOptions } from "./server.ts";
import {
  contactCreateFrame,
  contactUri,
  createFrame,
  domainUri,
  hostFrame,
  hostObjects,
  hostUri,
  infoFrame,
  renewFrame,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const now = () => new Date("2028-03-01T10:00:00.000Z");
const withHosts = { objects: [domainUri, contactUri, hostUri] };
const period = '<domain:period unit="y">1</domain:period>';

async function startAs(context: TestContext, options: Partial<SandboxRegistryOptions>) {
  const { registry, client } = await startWithClient(context, { now, ...options }, withHosts);
  const gainer = await RawClient.login(registry, "gate-two", "secret-2");
  context.after(() => gainer.close());
  return { registry, client, gainer };
}

async function assertCodes(client: RawClient, cases: [number, string][]): Promise<void> {
  for (const [code, frame] of cases) assert.equal((await client.ask(frame)).code, code, frame);
}

const changeAuthInfo = updateFrame(
  "a.test",
  "<domain:chg><domain:authInfo><domain:pw>mine-1</domain:pw></domain:authInfo></domain:chg>",
);

test("contactPerRole: a contact has one role, at this name and at all others", async (context) => {
  const { client } = await startAs(context, { contactPerRole: true });
  const tech = (id: string) => `<domain:contact type="tech">${id}</domain:contact>`;
  await client.ask(contactCreateFrame("reg-2"));
  await assertCodes(client, [
    [2306, createFrame("a.test", { contacts: tech("reg-1") })],
    [1000, createFrame("a.test", { contacts: tech("reg-2") })],
    [2306, createFrame("b.test", { registrant: "reg-2" })],
    [1000, createFrame("b.test")],
    [2306, updateFrame("b.test", `<domain:add>${tech("reg-1")}</domain:add>`)],
    [1000, updateFrame("b.test", `<domain:add>${tech("reg-2")}</domain:add>`)],
  ]);
});

test("authInfo=registry: the registry draws it, shows it to nobody, and takes no other", async (context) => {
  const { registry, client, gainer } = await startAs(context, { authInfo: "registry" });
  await assertCodes(client, [
    [1000, createFrame("a.test", { authInfo: "mine-1" })],
    [2306, changeAuthInfo],
  ]);
  assert.ok(!(await client.ask(infoFrame("a.test"))).xml.includes("authInfo"));
  const { authInfo } = registry.store.domains.find("a.test")!;
  await assertCodes(gainer, [
    [2202, transferFrame("request", "a.test", "mine-1")],
    [1001, transferFrame("request", "a.test", authInfo)],
  ]);
});

test("authInfo=none: no name has one, and no transfer can be requested", async (context) => {
  const { client, gainer } = await startAs(context, { authInfo: "none" });
  await assertCodes(client, [
    [1000, createFrame("a.test", { authInfo: "mine-1" })],
    [2306, changeAuthInfo],
  ]);
  assert.ok(!(await client.ask(infoFrame("a.test"))).xml.includes("authInfo"));
  await assertCodes(gainer, [
    [2106, transferFrame("request", "a.test")],
    [2202, transferFrame("request", "a.test", "mine-1")],
  ]);
});

test("infoShowsAuthInfo=false: a registrar sets the authInfo, and info never shows it", async (context) => {
  const { client, gainer } = await startAs(context, { infoShowsAuthInfo: false });
  await assertCodes(client, [
    [1000, createFrame("a.test")],
    [1000, changeAuthInfo],
  ]);
  assert.ok(!(await client.ask(infoFrame("a.test", "mine-1"))).xml.includes("authInfo"));
  await assertCodes(gainer, [[1001, transferFrame("request", "a.test", "mine-1")]]);
});

test("nameServersAtCreateMin: a name needs its name servers at once", async (context) => {
  const { client } = await startAs(context, { nameServersAtCreateMin: 2 });
  await client.ask(hostFrame("create", "ns1.example.net"));
  await client.ask(hostFrame("create", "ns2.example.net"));
  await assertCodes(client, [
    [2003, createFrame("a.test")],
    [2003, createFrame("a.test", { ns: hostObjects("ns1.example.net") })],
    [1000, createFrame("a.test", { ns: hostObjects("ns1.example.net", "ns2.example.net") })],
  ]);
});

test("renewCommand=false: a renew is no command here", async (context) => {
  const { client } = await startAs(context, { renewCommand: false });
  await assertCodes(client, [
    [1000, createFrame("a.test")],
    [2101, renewFrame("a.test", "2029-03-01")],
  ]);
});

test("period=none: everything is for a year, and no command may say so", async (context) => {
  const { client, gainer } = await startAs(context, { period: "none" });
  await assertCodes(client, [
    [2306, createFrame("a.test", { period })],
    [1000, createFrame("a.test")],
    [2306, renewFrame("a.test", "2029-03-01")],
    [1000, renewFrame("a.test", "2029-03-01").replace(period, "")],
  ]);
  await assertCodes(gainer, [
    [2306, transferFrame("request", "a.test", "auth-1", period)],
    [1001, transferFrame("request", "a.test", "auth-1")],
  ]);
});
