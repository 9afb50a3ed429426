import assert from "node:assert/strict";
import { test } from "node:test";
import { findSchemaFault } from "./schema.ts";
import { restyle, type Style, styleNames } from "./style.ts";
import { checkFrame, createFrame, infoFrame, pollFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";
import { parseXml, tokenOf, type XmlElement } from "./xml.ts";

/** Everything that a client that reads by namespace gets from a frame, in order. */
function facts(element: XmlElement): string[] {
  const attributes = Object.entries(element.attributes).sort();
  const own = `${element.uri} ${element.local} ${JSON.stringify(attributes)} ${tokenOf(element)}`;
  return [own, ...element.children.flatMap(facts)];
}

const answer =
  '<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n' +
  '<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1301"><msg>Ack ]]&gt; &amp; dequeue “now”</msg>' +
  '</result><msgQ count="2" id="7"/><resData><domain:panData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0">' +
  '<domain:name paResult="1">a.test</domain:name><domain:paTRID><clTRID>order-1</clTRID><svTRID>SBX-1</svTRID>' +
  "</domain:paTRID><domain:paDate>2026-03-01T12:00:00Z</domain:paDate></domain:panData></resData>" +
  "<trID><clTRID>poll-1</clTRID><svTRID>SBX-2</svTRID></trID></response></epp>";

const byteOrderMark = "\uFEFF";
const asRead = (xml: string) => facts(parseXml(xml.replace(byteOrderMark, "").replace("US-ASCII", "UTF-8")));

test("has the same content in every style, and is valid in all but the disordered one", () => {
  const orderly = styleNames.filter((style) => style !== "disordered");
  for (const styles of [...orderly.map((style): Style[] => [style]), orderly]) {
    const text = restyle(answer, styles);
    assert.notEqual(text, answer);
    assert.deepEqual(asRead(text), asRead(answer), styles.join());
    assert.equal(findSchemaFault(text.replace(byteOrderMark, "")), undefined, styles.join());
  }
  const disordered = restyle(answer, ["disordered"]);
  assert.deepEqual(asRead(disordered).sort(), asRead(answer).sort());
  assert.notEqual(findSchemaFault(disordered), undefined);
});

test("writes each style as documented", () => {
  const shows: [Style, RegExp][] = [
    ["prefixed", /<epp:response>.*<(ns-_\.\d):panData xmlns:\1="urn:ietf:params:xml:ns:domain-1.0">/s],
    ["unprefixed", /<panData xmlns="urn:ietf:params:xml:ns:domain-1.0">.*<clTRID xmlns="urn:ietf:params:xml:ns:epp/s],
    ["comments", /<clTRID>orde<!-- 2400 -->r-1/],
    ["cdata", /<!\[CDATA\[Ack \]\]\]\]><!\[CDATA\[> & dequeue/],
    ["pretty", /\r\n {2}<response>\r\n {4}<result/],
    ["reordered", /id="7" count="2"/],
    ["bom", /^\uFEFF<\?xml/],
    ["encoding", /^<\?xml version='1.0' encoding='US-ASCII'\?>[\0-\x7F]*&#8220;now&#8221;[\0-\x7F]*$/],
    ["undeclared", /^<epp/],
  ];
  for (const [style, pattern] of shows) assert.match(restyle(answer, [style]), pattern);
});

test("reverses lists in the reordered style", async (context) => {
  const { client } = await startWithClient(context, { faults: { styles: ["reordered"] } });
  const { xml } = await client.ask(checkFrame("a.test", "b.test"));
  assert.ok(xml.indexOf("b.test") < xml.indexOf("a.test"));
});

test("serves a whole session in the given styles, and applies labels in them too", async (context) => {
  const { registry, client } = await startWithClient(context);
  for (const styles of [
    ["prefixed", "comments", "cdata", "pretty"],
    ["unprefixed", "undeclared", "reordered"],
  ]) {
    registry.setFaults({ styles: styles as Style[] });
    const name = `${styles[0]}.test`;
    assert.equal((await client.ask(createFrame(name))).code, 1000);
    assert.equal((await client.ask(infoFrame(name))).code, 1000);
    assert.equal((await client.ask(pollFrame)).code, 1300);
    assert.equal((await client.ask(createFrame(`trid-${name}`))).clTRID, "SBX-NEVER-SENT");
    (await RawClient.login(registry)).close();
  }
});
