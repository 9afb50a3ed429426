/** The quick way to read a frame, judged by the whole parser: the same tree or no opinion, whatever the text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parsePlainXml } from "#registry/epp/xml/plain.ts";
import { parseAnyXml } from "#registry/epp/xml/xml.ts";
import { exampleFrames, spoiled } from "./mutations.ts";
import { seed } from "./seed.ts";

/** Whether the quick way read it, after a comparison with the whole parser. */
function isPlain(xml: string): boolean {
  const quick = parsePlainXml(xml);
  // The whole parser throws where the quick way accepts what is not XML.
  if (quick) assert.deepStrictEqual(quick, parseAnyXml(xml), xml);
  return quick !== undefined;
}

test("the RFCs' example frames are read the quick way, but for those that need more", () => {
  const needsMore = exampleFrames.filter((xml) => !isPlain(xml));
  assert.ok(exampleFrames.length > 100);
  for (const xml of needsMore) assert.match(xml, /&|<!|xsi:|xml:|\r/, xml);
});

test("a spoiled frame is read the quick way as the whole parser reads it, or not at all", (context) => {
  const decoder = new TextDecoder();
  const counts = { frames: 0, plain: 0 };
  fc.assert(
    fc.property(spoiled(exampleFrames), (body) => {
      counts.frames += 1;
      if (isPlain(decoder.decode(body))) counts.plain += 1;
    }),
    { seed, numRuns: 3_000 },
  );
  context.diagnostic(JSON.stringify(counts));
  assert.ok(counts.plain > counts.frames / 10 && counts.plain < counts.frames);
});

/** Every character that means something to XML or to us, in pieces that often fit together. */
const pieces = [
  ...["<a>", "</a>", "<p:a>", "</p:a>", "<b/>", '<a xmlns="urn:a">', '<p:a xmlns:p="urn:a">', "<a", "<p:b", ">", "/>"],
  ...[' xmlns:p="urn:p"', ' xmlns:q="urn:p"', ' xmlns="urn:b"', ' xmlns=""', ' xmlns:p=""', ' xmlns:xml="urn:a"'],
  ...[' xmlns:xmlns="urn:a"', ' xmlns="http://www.w3.org/XML/1998/namespace"', ' x="1"', " x='1'", ' p:x="1"'],
  ...[' q:x="1"', ' xml:x="1"', ' xmlns:p="http://www.w3.org/2000/xmlns/"', ' x = "1"', ' x=""', ' x="a\tb"', ' x="<"'],
  ...[' x="a>b"', "\n", "\t", " ", "\r", "\r\n", "text", "é", "𐀀", "\ud800", "\ufffe", "\u0001", "\u007f", "\u2028"],
  ...["]]>", "]]", ">", "&amp;", "&#65;", "<!-- -->", "<![CDATA[x]]>", "<?p?>", "<!DOCTYPE a>", "\ufeff", ":", "::"],
  ...['<?xml version="1.0"?>', '<?xml version="1.0" encoding="utf-8" standalone="no"?>', '<?xml version="1.1"?>'],
  ...["<constructor>", "</constructor>", "<__proto__/>", ' constructor="1"', ' __proto__="1"', "<xml/>", "<xmlns:a/>"],
  ...['<toString:a xmlns:toString="urn:a"/>', "<constructor:a/>"],
];

test("pieces of XML, put together at random, are read the quick way as the whole parser reads them", (context) => {
  let plain = 0;
  const inside = fc.array(fc.constantFrom(...pieces), { maxLength: 6 }).map((chosen) => chosen.join(""));
  const document = fc.oneof(
    inside,
    inside.map((text) => `<a>${text}</a>`),
    inside.map((text) => `<a xmlns:p="urn:p"${text}>x</a>`),
  );
  fc.assert(
    fc.property(document, (xml) => {
      if (isPlain(xml)) plain += 1;
    }),
    { seed, numRuns: 20_000 },
  );
  context.diagnostic(JSON.stringify({ plain }));
  assert.ok(plain > 500);
});
