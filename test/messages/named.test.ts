/** Messages that name domains in data of a registry's own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeField } from "#registry/message-rules.ts";
import { startStage } from "../changes/stage.ts";
import type { TestGateway } from "../harness/gateway.ts";
import { until } from "../orders/judge.ts";
import { alarmed, historyOf, quick, send, stored } from "./stage.ts";

const names = ["one.example", "two.example"];
const answer = (data: string, text = "Domains Suspended Notification") =>
  `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>ack</msg></result>
    <msgQ count="1" id="$id"><qDate>2026-01-02T03:04:05Z</qDate><msg>${text}</msg></msgQ><resData>${data}</resData>
    <trID><clTRID>$clTRID</clTRID><svTRID>$svTRID</svTRID></trID></response></epp>`;
const suspended = (...domains: string[]) =>
  `<n:suspData xmlns:n="http://www.nominet.org.uk/epp/xml/std-notifications-1.2"><n:reason>Data Quality</n:reason>
    <n:domainListData noDomains="${domains.length}">${domains.map((name) => `<n:domainName>${name}</n:domainName>`).join("")}</n:domainListData></n:suspData>`;
const looks = ({ registry }: TestGateway, name: string) =>
  registry.store.journal.entries({ name, command: "domain:info", direction: "in" }).length;

test("each name in a registry's own data gets its notice, and is compared with the registry", async (t) => {
  const { gateway, reseller } = await startStage(t, names, { registry: quick });
  const before = names.map((name) => looks(gateway, name));
  await send(gateway, { raw: answer(suspended(...names)) });
  for (const [index, name] of names.entries()) {
    const [event] = await historyOf(gateway, name);
    assert.deepEqual(event, {
      event: "registry-notice",
      note: 'Domains Suspended Notification: reason "Data Quality"',
    });
    await until(`${name} is looked at`, () => looks(gateway, name) > (before[index] ?? 0));
  }
  const { text } = await gateway.send(reseller, "GET", "/events");
  assert.equal(text.match(/"domain\.notice"/g)?.length, 2);
  assert.deepEqual(
    (await stored(gateway)).map(({ kind, outcome, needs_operator: needs }) => [kind.split(" ")[0], outcome, needs]),
    [["suspData", "told", false]],
  );
  assert.deepEqual(await alarmed(gateway), []);
});

test("a name without an owner raises an alarm, and the other names of the message get their notices", async (t) => {
  const { gateway } = await startStage(t, ["one.example"], { registry: quick });
  await send(gateway, { raw: answer(suspended("one.example", "stranger.example")) });
  assert.equal((await historyOf(gateway, "one.example")).length, 1);
  const [message] = await stored(gateway);
  assert.deepEqual([message?.outcome, message?.needs_operator], ["kept", true]);
  assert.match(message?.payload ?? "", /stranger\.example/);
  assert.match((await alarmed(gateway)).join(), /^messages-kept sandbox\/suspData /);
});

test("data of no known form are kept and shown, until a rule of the profile says where their names stand", async (t) => {
  const data = `<h:holdData xmlns:h="urn:example:hold"><h:domains><h:name>one.example</h:name><h:name>TWO.example.</h:name></h:domains></h:holdData>`;
  const plain = await startStage(t, names, { registry: quick });
  await send(plain.gateway, { raw: answer(data, "on hold") });
  const [kept] = await stored(plain.gateway);
  assert.deepEqual([kept?.kind, kept?.outcome, kept?.needs_operator], ["holdData (urn:example:hold)", "kept", true]);
  assert.match(kept?.payload ?? "", /one\.example/);
  assert.deepEqual(await historyOf(plain.gateway, "one.example"), []);
  const messages = [{ data: "holdData", names: ["domains/name"], [outcomeField]: "tell" as const }];
  const ruled = await startStage(t, names, { registry: { ...quick, messages } });
  await send(ruled.gateway, { raw: answer(data, "on hold") });
  for (const name of names) {
    assert.deepEqual(await historyOf(ruled.gateway, name), [{ event: "registry-notice", note: "on hold" }]);
  }
  assert.deepEqual(await alarmed(ruled.gateway), []);
});

test("a transfer that a message wraps ends the name here, once the registry shows it elsewhere", async (t) => {
  const { gateway, reseller } = await startStage(t, ["one.example"], { registry: quick });
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find("one.example")!, clID: "rival" });
  const trnData = `<d:trnData xmlns:d="urn:ietf:params:xml:ns:domain-1.0"><d:name>one.example</d:name>
    <d:trStatus>serverApproved</d:trStatus><d:reID>rival</d:reID></d:trnData>`;
  await send(gateway, {
    raw: answer(
      `<s:pollData xmlns:s="http://rxsd.domain-registry.nl/sidn-ext-epp-1.0"><s:command>domain:transfer</s:command>
        <s:data><result code="1000"><msg>done</msg></result><resData>${trnData}</resData></s:data></s:pollData>`,
    ),
  });
  const { body } = await gateway.send(reseller, "GET", "/domains/departures");
  const [left] = body as { domain_name: string; gaining_registrar: string }[];
  assert.deepEqual([left?.domain_name, left?.gaining_registrar], ["one.example", "rival"]);
});
