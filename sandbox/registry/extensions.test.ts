import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistryOptions } from "./server.ts";
import {
  checkFrame,
  createFrame,
  deleteFrame,
  extended,
  feeUri,
  infoFrame,
  renewFrame,
  restoreFrame,
  restoreReport,
  rgpUri,
  secDnsUri,
  updateFrame,
} from "./test/frames.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const now = () => new Date("2028-03-01T10:00:00.000Z");
const emptyChange = "<domain:chg/>";

function startExtended(context: TestContext, options: Partial<SandboxRegistryOptions> = {}) {
  return startWithClient(context, { now, ...options }, { extension: [rgpUri, secDnsUri, feeUri] });
}

function rgpStatuses({ xml }: Answer): string[] {
  return [...xml.matchAll(/<rgp:rgpStatus s="(\w+)"/g)].map((match) => match[1] ?? "");
}

function feeXml(command: string, sum: string, currency = "EUR"): string {
  return `<fee:${command} xmlns:fee="${feeUri}"><fee:currency>${currency}</fee:currency><fee:fee>${sum}</fee:fee></fee:${command}>`;
}

function secDnsXml(command: string, content: string, attributes = ""): string {
  return `<secDNS:${command} xmlns:secDNS="${secDnsUri}"${attributes}>${content}</secDNS:${command}>`;
}

function dsXml(keyTag: number, digest = "ab".repeat(32), digestType = 2): string {
  return (
    `<secDNS:dsData><secDNS:keyTag>${keyTag}</secDNS:keyTag><secDNS:alg>13</secDNS:alg>` +
    `<secDNS:digestType>${digestType}</secDNS:digestType><secDNS:digest>${digest}</secDNS:digest></secDNS:dsData>`
  );
}

const keyXml =
  "<secDNS:keyData><secDNS:flags>257</secDNS:flags><secDNS:protocol>3</secDNS:protocol><secDNS:alg>13</secDNS:alg>" +
  "<secDNS:pubKey>aGVsbG8gd29ybGQ=</secDNS:pubKey></secDNS:keyData>";

test("shows the grace periods and the deletion stage of a name to sessions that requested rgp", async (context) => {
  const { registry, client } = await startExtended(context);
  await client.ask(createFrame("a.test"));
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["addPeriod"]);
  const plain = await RawClient.login(registry);
  assert.ok(!(await plain.ask(infoFrame("a.test"))).xml.includes("<extension>"));
  plain.close();
  await client.ask(renewFrame("a.test", "2029-03-01"));
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["addPeriod", "renewPeriod"]);
  await registry.advance(5 * dayMs);
  assert.ok(!(await client.ask(infoFrame("a.test"))).xml.includes("<extension>"));
  await registry.advance(725 * dayMs);
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["autoRenewPeriod"]);
  await client.ask(deleteFrame("a.test"));
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["redemptionPeriod"]);
  await registry.advance(30 * dayMs);
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["pendingDelete"]);
});

test("restores a name in redemption by request and report, and by nothing else", async (context) => {
  const { registry, client } = await startExtended(context);
  await client.ask(createFrame("a.test"));
  await registry.advance(10 * dayMs);
  assert.equal((await client.ask(restoreFrame("a.test", "request"))).code, 2304);
  await client.ask(deleteFrame("a.test"));
  assert.equal((await client.ask(restoreFrame("a.test", "report"))).code, 2304);
  assert.equal((await client.ask(restoreFrame("a.test", "report", ""))).code, 2003);
  assert.equal((await client.ask(restoreFrame("a.test", "request", restoreReport))).code, 2002);
  assert.equal((await client.ask(restoreFrame("a.test", "request").replace(emptyChange, ""))).code, 2003);
  const chg = "<domain:chg><domain:authInfo><domain:pw>new-auth</domain:pw></domain:authInfo></domain:chg>";
  assert.equal((await client.ask(restoreFrame("a.test", "request").replace(emptyChange, chg))).code, 2306);
  const requested = await client.ask(restoreFrame("a.test", "request"));
  assert.equal(requested.code, 1000);
  assert.match(requested.xml, /<rgp:upData[^>]*><rgp:rgpStatus s="pendingRestore"/);
  const pending = await client.ask(infoFrame("a.test"));
  assert.deepEqual(rgpStatuses(pending), ["pendingRestore"]);
  assert.match(pending.xml, /s="pendingDelete"/);
  assert.equal((await client.ask(restoreFrame("a.test", "report"))).code, 1000);
  const info = await client.ask(infoFrame("a.test"));
  assert.ok(!info.xml.includes("pendingDelete"));
  assert.equal(textOf(info, "exDate"), "2029-03-01T10:00:00.000Z");
  await registry.advance(60 * dayMs);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 1000);
});

test("returns a name to redemption if no report arrives, and removes it in the end", async (context) => {
  const { registry, client } = await startExtended(context);
  await client.ask(createFrame("a.test"));
  await registry.advance(10 * dayMs);
  await client.ask(deleteFrame("a.test"));
  await client.ask(restoreFrame("a.test", "request"));
  await registry.advance(7 * dayMs);
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["redemptionPeriod"]);
  await registry.advance(35 * dayMs);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
});

test("adds missed renewals to a restored name, at once if no report is required", async (context) => {
  const { registry, client } = await startExtended(context, { atExpiry: "expire", restoreReport: false });
  await client.ask(createFrame("a.test"));
  await registry.advance(370 * dayMs);
  assert.deepEqual(rgpStatuses(await client.ask(infoFrame("a.test"))), ["redemptionPeriod"]);
  const paidLittle = restoreFrame("a.test", "request").replace(
    "</extension>",
    `${feeXml("update", "49.99")}</extension>`,
  );
  assert.equal((await client.ask(paidLittle)).code, 2004);
  const restored = await client.ask(paidLittle.replace("49.99", "50.00"));
  assert.equal(restored.code, 1000);
  assert.match(restored.xml, /<fee:updData.*<fee:fee>50.00</);
  const info = await client.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "exDate"), "2030-03-01T10:00:00.000Z");
  assert.ok(!info.xml.includes("pendingDelete"));
});

test("stores DS records or keys, changes them, and shows them to sessions that requested secDNS", async (context) => {
  const { client } = await startExtended(context);
  const life = "<secDNS:maxSigLife>604800</secDNS:maxSigLife>";
  const created = await client.ask(extended(createFrame("a.test"), secDnsXml("create", life + dsXml(1))));
  assert.equal(created.code, 1000);
  const shown = (answer: Answer) => /<secDNS:infData[^>]*>(.*)<\/secDNS:infData>/.exec(answer.xml)?.[1];
  assert.equal(shown(await client.ask(infoFrame("a.test"))), life + dsXml(1, "AB".repeat(32)));
  const change = async (content: string, attributes?: string) =>
    (await client.ask(extended(updateFrame("a.test", ""), secDnsXml("update", content, attributes)))).code;
  const add = (records: string) => `<secDNS:add>${records}</secDNS:add>`;
  const chg = "<secDNS:chg><secDNS:maxSigLife>60</secDNS:maxSigLife></secDNS:chg>";
  const rem = (records: string) => `<secDNS:rem>${records}</secDNS:rem>`;
  assert.equal(await change(rem(dsXml(1)) + add(dsXml(2)) + chg), 1000);
  assert.equal(
    shown(await client.ask(infoFrame("a.test"))),
    `<secDNS:maxSigLife>60</secDNS:maxSigLife>${dsXml(2, "AB".repeat(32))}`,
  );
  assert.equal(await change(rem(dsXml(1))), 2306);
  assert.equal(await change(add(dsXml(2))), 2306);
  assert.equal(await change(add(keyXml)), 2306);
  assert.equal(await change(add(dsXml(3, "ab"))), 2005);
  assert.equal(await change(add(dsXml(3, "ab", 9))), 2306);
  assert.equal(await change(add(dsXml(3)), ' urgent="1"'), 2102);
  assert.equal(await change(""), 2003);
  assert.equal(await change(`${rem("<secDNS:all>true</secDNS:all>")}${add(keyXml)}`), 1000);
  assert.equal(shown(await client.ask(infoFrame("a.test"))), keyXml);
  assert.equal(await change(rem("<secDNS:all>true</secDNS:all>")), 1000);
  assert.equal(shown(await client.ask(infoFrame("a.test"))), undefined);
});

test("returns the prices of commands, and marks those without a price", async (context) => {
  const { client } = await startExtended(context);
  const commands = (...names: string[]) => names.map((name) => `<fee:command name="${name}"/>`).join("");
  const ask = (content: string) =>
    client.ask(
      extended(checkFrame("a.test", "premium-a.test"), `<fee:check xmlns:fee="${feeUri}">${content}</fee:check>`),
    );
  const { xml } = await ask(commands("create", "renew", "restore"));
  assert.match(xml, /avail="1">premium-a.test</);
  assert.deepEqual(
    [...xml.matchAll(/<fee:fee>([\d.]+)</g)].map((match) => match[1]),
    ["10.00", "10.00", "50.00", "100.00", "100.00", "50.00"],
  );
  assert.match(xml, /<fee:objID>premium-a.test<\/fee:objID><fee:class>premium</);
  assert.match(xml, /<fee:command name="create" standard="1"><fee:period unit="y">1</);
  const years = (count: number) =>
    `<fee:command name="create"><fee:period unit="y">${count}</fee:period></fee:command>`;
  assert.match((await ask(years(2))).xml, /<fee:fee>200.00</);
  assert.match((await ask(years(11))).xml, /<fee:cd avail="0">.*<fee:reason>at most 10 years</);
  assert.match(
    (await ask(`<fee:currency>USD</fee:currency>${commands("create")}`)).xml,
    /avail="0"><fee:objID>a.test<.*fees are in EUR/,
  );
  assert.equal((await ask('<fee:command name="create" phase="sunrise"/>')).code, 2004);
});

test("asks a price of its own for the renewal, or for the restore, of names that are registered at the usual one", async (context) => {
  const { registry, client } = await startExtended(context, { premiumClass: "none", restoreReport: false });
  const price = async (name: string, command: string) => {
    const check = `<fee:check xmlns:fee="${feeUri}"><fee:command name="${command}"/></fee:check>`;
    return textOf(await client.ask(extended(checkFrame(name), check)), "fee");
  };
  const [renewed, restored] = ["renew-premium-a.test", "restore-premium-a.test"];
  for (const name of [renewed, restored]) {
    assert.equal((await client.ask(createFrame(name))).code, 1000);
    assert.equal(await price(name, "create"), "10.00");
  }
  assert.deepEqual([await price(renewed, "renew"), await price(renewed, "restore")], ["100.00", "50.00"]);
  assert.deepEqual([await price(restored, "renew"), await price(restored, "restore")], ["10.00", "100.00"]);
  const renew = (sum: string) => client.ask(extended(renewFrame(renewed, "2029-03-01"), feeXml("renew", sum)));
  assert.equal((await renew("99.99")).code, 2004);
  assert.equal((await renew("100.00")).code, 1000);
  await registry.advance(10 * dayMs);
  await client.ask(deleteFrame(restored));
  const restore = (sum: string) =>
    client.ask(restoreFrame(restored, "request").replace("</extension>", `${feeXml("update", sum)}</extension>`));
  assert.equal((await restore("99.99")).code, 2004);
  assert.equal((await restore("100.00")).code, 1000);
});

test("demands the exact fee of each command that costs something, if it is set to", async (context) => {
  const { registry, client } = await startExtended(context, { feeDemanded: true });
  const steps: [command: string, frame: () => string][] = [
    ["create", () => createFrame("a.test")],
    ["renew", () => renewFrame("a.test", "2029-03-01")],
    ["update", () => restoreFrame("a.test", "request")],
  ];
  for (const [command, frame] of steps) {
    const withFee = (sum: string) => {
      const fee = feeXml(command, sum);
      return command === "update" ? frame().replace("</extension>", `${fee}</extension>`) : extended(frame(), fee);
    };
    const sum = command === "update" ? "50.00" : "10.00";
    if (command === "update") {
      await registry.advance(10 * dayMs);
      await client.ask(deleteFrame("a.test"));
    }
    assert.equal((await client.ask(frame())).code, 2003, command);
    for (const wrong of ["9.99", "50.01"]) assert.equal((await client.ask(withFee(wrong))).code, 2004, command);
    assert.equal((await client.ask(withFee(sum))).code, 1000, command);
  }
  assert.equal((await client.ask(restoreFrame("a.test", "report"))).code, 1000);
  const plain = await RawClient.login(registry);
  assert.equal((await plain.ask(createFrame("b.test"))).code, 1000, "a client without the extension");
  plain.close();
});

test("sells a premium name at its price only, and only to sessions that requested the fee extension", async (context) => {
  const { registry, client } = await startExtended(context);
  assert.match((await client.ask(checkFrame("premium-a.test"))).xml, /avail="0"/);
  assert.equal((await client.ask(createFrame("premium-a.test"))).code, 2003);
  const create = (sum: string, currency?: string) =>
    client.ask(extended(createFrame("premium-a.test"), feeXml("create", sum, currency)));
  assert.equal((await create("99.99")).code, 2004);
  assert.equal((await create("100.00", "USD")).code, 2004);
  const plain = await RawClient.login(registry);
  assert.equal((await plain.ask(createFrame("premium-a.test"))).code, 2306);
  plain.close();
  const created = await create("100.00");
  assert.equal(created.code, 1000);
  assert.match(created.xml, /<fee:creData.*<fee:fee>100.00</);
  const renew = (sum: string) => client.ask(extended(renewFrame("premium-a.test", "2029-03-01"), feeXml("renew", sum)));
  assert.equal((await renew("10.00")).code, 2004);
  assert.match((await renew("100.00")).xml, /<fee:renData.*<fee:fee>100.00</);
});

test("refuses an extension that is not supported, not requested, or of another command", async (context) => {
  const { registry, client } = await startExtended(context, { extensions: ["rgp", "secDNS", "fee"] });
  await client.ask(createFrame("a.test"));
  const launch =
    '<launch:delete xmlns:launch="urn:ietf:params:xml:ns:launch-1.0"><launch:phase>sunrise</launch:phase><launch:applicationID>1</launch:applicationID></launch:delete>';
  assert.equal((await client.ask(extended(deleteFrame("a.test"), launch))).code, 2103);
  assert.equal((await client.ask(extended(deleteFrame("a.test"), feeXml("create", "10.00")))).code, 2002);
  assert.equal((await client.ask(extended(createFrame("b.test"), secDnsXml("update", "")))).code, 2002);
  const fee = feeXml("create", "10.00");
  assert.equal((await client.ask(extended(createFrame("b.test"), fee, fee))).code, 2002);
  const plain = await RawClient.login(registry);
  assert.equal((await plain.ask(extended(createFrame("b.test"), feeXml("create", "10.00")))).code, 2002);
  plain.close();
});
