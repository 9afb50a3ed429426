import assert from "node:assert/strict";
import { test } from "node:test";
import { ackFrame, pollFrame } from "./test/frames.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const registrar = "gate-one";

function messageId({ xml }: Answer): string {
  return /<msgQ count="\d+" id="(\d+)"/.exec(xml)?.[1] ?? "";
}

test("shows messages that were added by hand in order, with their data and extensions", async (context) => {
  const { registry, client } = await startWithClient(context);
  const transfer =
    '<domain:trnData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>moved.test</domain:name>' +
    "<domain:trStatus>clientApproved</domain:trStatus><domain:reID>gate-two</domain:reID>" +
    "<domain:reDate>2026-03-01T12:00:00Z</domain:reDate><domain:acID>gate-one</domain:acID>" +
    "<domain:acDate>2026-03-02T12:00:00Z</domain:acDate></domain:trnData>";
  const change =
    '<changePoll:changeData xmlns:changePoll="urn:ietf:params:xml:ns:changePoll-1.0" state="after">' +
    "<changePoll:operation>update</changePoll:operation><changePoll:date>2026-03-01T12:00:00Z</changePoll:date>" +
    "<changePoll:svTRID>SBX-9</changePoll:svTRID><changePoll:who>the registry</changePoll:who></changePoll:changeData>";
  const ids = [
    await registry.enqueueMessage({ registrar, text: "Maintenance on Sunday & Monday" }),
    await registry.enqueueMessage({ registrar, xml: transfer }),
    await registry.enqueueMessage({ registrar, xml: transfer, extension: change }),
  ];
  const shown: Answer[] = [];
  for (const id of ids) {
    const answer = await client.ask(pollFrame);
    assert.equal(answer.code, 1301);
    assert.equal(messageId(answer), id);
    shown.push(answer);
    assert.equal((await client.ask(ackFrame(id))).code, 1000);
  }
  assert.match(shown[0]?.xml ?? "", /Maintenance on Sunday &amp; Monday/);
  assert.ok(!shown[0]?.xml.includes("resData"));
  assert.equal(textOf(shown[1]!, "trStatus"), "clientApproved");
  assert.equal(textOf(shown[2]!, "who"), "the registry");
  assert.equal((await client.ask(pollFrame)).code, 1300);
});

test("refuses to acknowledge a message that is not the oldest with 2308, and one that does not exist with 2303", async (context) => {
  const { registry, client } = await startWithClient(context);
  const first = await registry.enqueueMessage({ registrar });
  const second = await registry.enqueueMessage({ registrar });
  const others = await registry.enqueueMessage({ registrar: "gate-two" });
  assert.equal((await client.ask(ackFrame(second))).code, 2308);
  assert.equal((await client.ask(ackFrame(others))).code, 2303);
  assert.equal(messageId(await client.ask(pollFrame)), first);
  assert.equal((await client.ask(ackFrame(first))).code, 1000);
  assert.equal((await client.ask(ackFrame(first))).code, 2303);
  assert.equal((await client.ask(ackFrame(second))).code, 1000);
});

test("shows a message again after an acknowledgement that was dropped", async (context) => {
  const { registry, client } = await startWithClient(context);
  const id = await registry.enqueueMessage({ registrar });
  const hold = registry.hold({ command: "poll:ack", at: "before-execution" });
  client.send(ackFrame(id));
  await hold.reached(1);
  client.close();
  await hold.abandoned(1);
  hold.release({ execute: false });
  const next = await RawClient.login(registry);
  assert.equal(messageId(await next.ask(pollFrame)), id);
  next.close();
});

test("refuses a message that no valid answer can contain", async (context) => {
  const { registry, client } = await startWithClient(context);
  const cases: [Parameters<typeof registry.enqueueMessage>[0], RegExp][] = [
    [{ registrar, xml: "<a>" }, /No valid answer can contain/],
    [{ registrar, xml: '<a xmlns="urn:unknown"/>' }, /No valid answer can contain/],
    [{ registrar: "nobody" }, /no registrar "nobody"/],
  ];
  for (const [request, sentence] of cases) await assert.rejects(registry.enqueueMessage(request), sentence);
  assert.equal((await client.ask(pollFrame)).code, 1300);
});

test("a raw message replaces the answer, with its ids and the requested white space", async (context) => {
  const { registry, client } = await startWithClient(context);
  const raw =
    '<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>$other</msg></result>' +
    '<msgQ id="$id"/><trID><clTRID>$clTRID</clTRID><svTRID>$svTRID</svTRID></trID></response></epp>';
  const id = await registry.enqueueMessage({ registrar, raw, padBytes: 100_000 });
  const { xml } = await client.ask(pollFrame);
  assert.match(xml, /<msg>\$other<\/msg>.*<clTRID>[^$]+<\/clTRID><svTRID>SBX-\d+<\/svTRID>.*<\/epp> {100000}$/);
  assert.ok(xml.includes(`<msgQ id="${id}"/>`));
  assert.equal((await client.ask(ackFrame(id))).code, 1000);
  await assert.rejects(registry.enqueueMessage({ registrar, raw, xml: "<a/>" }), /raw has xml/);
  await assert.rejects(registry.enqueueMessage({ registrar, padBytes: 1 }), /padBytes belongs to raw/);
});
