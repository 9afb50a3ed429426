/** What a registry tells of names and of our account, without a command of ours. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropOldMessages } from "#domains/messages/messages.ts";
import { startStage } from "../changes/stage.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { operated } from "../orders/operate.ts";
import { alarmed, historyOf, openAlarms, quick, ruleOf, send, stored, untilRead } from "./stage.ts";

const name = "managed.example";

test("a change by the registry goes into the name's history, and only a look shows what is true (RFC 8590)", async (t) => {
  const stage = await startStage(t, [name], { registry: quick });
  const { gateway, reseller } = stage;
  await operated(gateway, "domains", "sync", name);
  await gateway.registry.change(name, {
    addStatuses: ["serverHold"],
    nameServers: [{ name: "ns1.elsewhere.test" }],
    message: {
      changePoll: {
        who: "URS Admin",
        reason: "ask jo@registry.example",
        caseId: "urs123",
        states: ["before", "after"],
      },
    },
  });
  await untilRead(gateway);
  await until("it is looked at", async () => (await historyOf(gateway, name)).length === 3);
  const events = await historyOf(gateway, name);
  const [before, after] = events.filter(({ event }) => event === "registry-change");
  const said =
    /^update, at 20\S+Z, by "URS Admin", for the case udrp urs123, because "ask \[secret\]", as SBX-\d+, before it /;
  assert.match(before?.note ?? "", said);
  assert.doesNotMatch(before?.note ?? "", /serverHold|jo@/);
  assert.match(
    after?.note ?? "",
    /after it statuses "serverHold", name_servers "ns1\.elsewhere\.test", expiration_date "/,
  );
  const seen = events.find(({ event }) => event === "changed-at-registry");
  assert.match(seen?.note ?? "", /statuses: "" became "serverHold"; name_servers: "" became "ns1\.elsewhere\.test"/);
  const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
  assert.ok((body as { statuses: string[] }).statuses.includes("serverHold"));
  const listed = await gateway.send(reseller, "GET", `/domains/${name}/history`);
  assert.match(listed.text, /"registry-change"/);
  assert.deepEqual(
    (await stored(gateway)).map(({ kind, outcome, domain_name, needs_operator: needs }) => [
      kind,
      outcome,
      domain_name,
      needs,
    ]),
    [
      ["change", "told", name, false],
      ["change", "told", name, false],
    ],
  );
  assert.deepEqual(await openAlarms(gateway), []);
});

test("a message that lies about a change changes nothing but the history", async (t) => {
  const { gateway, reseller } = await startStage(t, [name], { registry: quick });
  const read = async () => (await gateway.send(reseller, "GET", `/domains/${name}`)).body;
  const looks = () => gateway.registry.store.journal.entries({ name, command: "domain:info", direction: "in" }).length;
  const [shown, looked] = [await read(), looks()];
  const xml = `<domain:infData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${name}</domain:name>
    <domain:roid>D9-TEST</domain:roid><domain:status s="serverHold"/><domain:clID>rival</domain:clID></domain:infData>`;
  const extension = `<c:changeData xmlns:c="urn:ietf:params:xml:ns:changePoll-1.0"><c:operation op="purge">custom</c:operation>
    <c:date>2026-01-01T00:00:00Z</c:date><c:svTRID>SBX-1</c:svTRID><c:who>nobody</c:who></c:changeData>`;
  await send(gateway, { xml, extension });
  await until("it is looked at", () => looks() > looked);
  assert.deepEqual(await read(), shown);
  const events = await historyOf(gateway, name);
  assert.deepEqual(
    events.map(({ event }) => event),
    ["registry-change"],
  );
  assert.match(
    events[0]?.note ?? "",
    /^custom \(purge\), at 2026-01-01T00:00:00\.000Z, by "nobody", as SBX-1, after it statuses "serverHold"/,
  );
});

test("a change of a host is in the history of the name above it; changes of contacts and of unknown names are kept", async (t) => {
  const { gateway } = await startStage(t, [name], { registry: quick });
  const change = `<c:changeData xmlns:c="urn:ietf:params:xml:ns:changePoll-1.0"><c:operation>update</c:operation>
    <c:date>2026-01-01T00:00:00Z</c:date><c:svTRID>SBX-1</c:svTRID><c:who>staff</c:who></c:changeData>`;
  const host = `<host:infData xmlns:host="urn:ietf:params:xml:ns:host-1.0"><host:name>ns1.${name}</host:name><host:roid>H1-T</host:roid>
    <host:status s="ok"/><host:clID>x12</host:clID><host:crID>x12</host:crID><host:crDate>2026-01-01T00:00:00Z</host:crDate></host:infData>`;
  await send(gateway, { xml: host, extension: change });
  assert.match((await historyOf(gateway, name))[0]?.note ?? "", /^update, host ns1\.managed\.example, /);
  const contact = `<contact:creData xmlns:contact="urn:ietf:params:xml:ns:contact-1.0"><contact:id>sh8013</contact:id>
    <contact:crDate>2026-01-01T00:00:00Z</contact:crDate></contact:creData>`;
  await send(gateway, { xml: contact, extension: change });
  assert.deepEqual(await alarmed(gateway), []);
  const unowned =
    '<domain:renData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>nobody.example</domain:name></domain:renData>';
  await send(gateway, { xml: unowned, extension: change });
  assert.deepEqual(await alarmed(gateway), ["messages-kept sandbox/change"]);
  assert.deepEqual(
    (await stored(gateway)).map(({ outcome, needs_operator: needs }) => [outcome, needs]),
    [
      ["told", false],
      ["kept", false],
      ["kept", true],
    ],
  );
});

test("data about a name, and a notice about its restore, go into its history", async (t) => {
  const { gateway } = await startStage(t, [name], { registry: quick });
  await send(gateway, {
    text: "renewed, the auth code is Secret-77",
    xml: `<domain:renData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${name}</domain:name></domain:renData>`,
  });
  await send(gateway, {
    text: "Restore request pending",
    xml: `<r:pollData xmlns:r="http://www.verisign.com/epp/rgp-poll-1.0"><r:name>${name}</r:name><r:rgpStatus s="pendingRestore"/>
      <r:reqDate>2026-01-01T00:00:00Z</r:reqDate><r:reportDueDate>2026-01-08T00:00:00Z</r:reportDueDate></r:pollData>`,
  });
  assert.deepEqual(await historyOf(gateway, name), [
    { event: "registry-notice", note: "renewed, the auth code is [secret]" },
    { event: "registry-notice", note: "Restore request pending: pendingRestore" },
  ]);
  assert.deepEqual(await alarmed(gateway), []);
});

test("a low balance is one alarm, which ends when the registry says that there is credit again", async (t) => {
  const sandbox = { creditUnits: 5, lowBalanceUnits: 3 };
  const { gateway } = await startStage(t, ["a.example", "b.example", "c.example"], { registry: quick, sandbox });
  await untilRead(gateway);
  await until("it is alarmed", async () => (await alarmed(gateway)).length === 1);
  const [alarm] = await openAlarms(gateway);
  assert.deepEqual(
    [alarm?.kind, alarm?.subject, alarm?.note],
    ["balance", "sandbox", "our account has a balance of 3, at or below 3"],
  );
  const again = (available: string) => `<l:pollData xmlns:l="http://www.verisign.com/epp/lowbalance-poll-1.0">
    <l:registrarName>Reseller</l:registrarName><l:creditLimit>1000</l:creditLimit>
    <l:creditThreshold type="PERCENT">10</l:creditThreshold><l:availableCredit>${available}</l:availableCredit></l:pollData>`;
  await send(gateway, { xml: again("99.50") });
  assert.deepEqual(
    (await openAlarms(gateway)).map(({ note, count }) => [note, count]),
    [["our account has a balance of 99.5, at or below 100", 2]],
  );
  await gateway.registry.setCredit("deedhouse", 50);
  await untilRead(gateway);
  assert.deepEqual(await alarmed(gateway), []);
  assert.ok((await stored(gateway)).every(({ kind, outcome }) => kind === "balance" && outcome === "applied"));
});

test("the profile's own amount decides whether a balance is low, whatever the registry calls it", async (t) => {
  const gateway = await startTestGateway(t, { registry: { ...quick, balanceAlarmAt: 20 } });
  const zones = ["cz", "0.2.4.e164.arpa"];
  const credit = (
    zone: string,
    amount: string,
  ) => `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>ack</msg></result>
    <msgQ count="1" id="$id"><qDate>2026-01-01T00:00:00Z</qDate><msg><f:lowCreditData xmlns:f="http://www.nic.cz/xml/epp/fred-1.5">
    <f:zone>${zone}</f:zone><f:limit><f:zone>${zone}</f:zone><f:credit>5000.00</f:credit></f:limit>
    <f:credit><f:zone>${zone}</f:zone><f:credit>${amount}</f:credit></f:credit></f:lowCreditData></msg></msgQ>
    <trID><clTRID>$clTRID</clTRID><svTRID>$svTRID</svTRID></trID></response></epp>`;
  for (const zone of zones) await send(gateway, { raw: credit(zone, "4999.00") });
  assert.deepEqual(await alarmed(gateway), []);
  for (const zone of zones) await send(gateway, { raw: credit(zone, "-3.00") });
  assert.deepEqual(
    await alarmed(gateway),
    zones.map((zone) => `balance sandbox/${zone}`),
  );
});

test("the profile's rules decide about texts; without one, all of a kind are kept with one alarm", async (t) => {
  const messages = [ruleOf("tell", "was renewed"), ruleOf("keep", "^newsletter [0-9]+$"), ruleOf("alarm", "invoice")];
  const { gateway } = await startStage(t, [name], { registry: { ...quick, messages } });
  await send(gateway, { text: `The names ${name} and other.example was renewed` });
  await send(gateway, { text: "Newsletter 12" });
  assert.deepEqual(await alarmed(gateway), []);
  for (const text of ["An invoice", "another INVOICE", "hello", "world", "anything"]) await send(gateway, { text });
  assert.deepEqual(
    (await openAlarms(gateway)).map(({ kind, subject, count }) => [kind, subject, count]),
    [
      ["messages-kept", "sandbox/rule invoice", 2],
      ["messages-kept", "sandbox/notice", 3],
    ],
  );
  assert.deepEqual(
    (await historyOf(gateway, name)).map(({ event }) => event),
    ["registry-notice"],
  );
  assert.deepEqual(
    (await stored(gateway)).map(({ kind, outcome, needs_operator: needs }) => [kind, outcome, needs]),
    [
      ["notice", "told", false],
      ["notice", "kept", false],
      ["rule invoice", "kept", true],
      ["rule invoice", "kept", true],
      ["notice", "kept", true],
      ["notice", "kept", true],
      ["notice", "kept", true],
    ],
  );
});

test("however many kinds a registry invents, the alarms stay few", async (t) => {
  const gateway = await startTestGateway(t, { registry: quick });
  const raw = (
    kind: number,
  ) => `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>ack</msg></result>
    <msgQ count="1" id="$id"/><resData><news xmlns="urn:kind-${kind}"/></resData>
    <trID><clTRID>$clTRID</clTRID><svTRID>$svTRID</svTRID></trID></response></epp>`;
  for (let kind = 0; kind < 25; kind++)
    await gateway.registry.enqueueMessage({ registrar: "deedhouse", raw: raw(kind) });
  await untilRead(gateway);
  const subjects = (await openAlarms(gateway)).map(({ subject }) => subject);
  assert.equal(subjects.length, 21);
  assert.deepEqual([subjects[0], subjects.at(-1)], ["sandbox/news (urn:kind-0)", "sandbox/others"]);
  const kept = "SELECT FROM poll_messages WHERE needs_operator AND done_at IS NULL";
  assert.equal((await runSql(gateway.databaseUrl, kept)).length, 25);
});

test("messages are deleted after the setting's time, except those that wait for an operator", async (t) => {
  const registry = { ...quick, messages: [ruleOf("keep", "newsletter")] };
  const gateway = await startTestGateway(t, { registry, context: { messageDays: 30 } });
  for (const text of ["newsletter", "unknown", "known"]) await send(gateway, { text });
  const known = (await stored(gateway)).find(({ message_text: text }) => text === "known");
  await operated(gateway, "messages", "done", "sandbox", known?.message_id ?? "", "--note", "read");
  const texts = async () => (await stored(gateway)).map(({ message_text: text }) => text);
  const dropAfter = (days: number) => {
    const clock = createSteeredClock();
    clock.skip(days * 24);
    return dropOldMessages({ ...gateway.context, clock });
  };
  await dropAfter(29);
  assert.equal((await texts()).length, 3);
  await dropAfter(31);
  assert.deepEqual(await texts(), ["unknown"]);
});
