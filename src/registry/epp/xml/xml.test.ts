import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Secret } from "#lib/secret.ts";
import { domainNamespace, eppNamespace } from "#registry/epp/namespaces.ts";
import { isGreeting, parseResponse } from "#registry/epp/response.ts";
import { availabilityXml, greetingXml, responseXml } from "#registry/epp/test-stand-in-server.ts";
import { parseXmlBoolean, parseXmlDate } from "#registry/epp/xml/values.ts";
import { writeXml, writeXmlRedacted } from "#registry/epp/xml/writer.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findChild,
  getChild,
  getText,
  parseXml,
  textOf,
  XmlError,
  xmlAttributesMax,
  xmlDepthMax,
  xmlElementsMax,
  xmlNamespacesMax,
} from "#registry/epp/xml/xml.ts";

describe("parsing XML", () => {
  test("finds elements by namespace, with any prefix and in any order", () => {
    const root = parseXml('<a xmlns="urn:one" xmlns:p="urn:two"><p:b>no</p:b><b> yes </b><c xmlns="urn:two"/></a>');
    assert.equal(getText(root, "urn:one", "b"), "yes");
    assert.equal(getText(root, "urn:two", "b"), "no");
    assert.equal(findChild(root, "urn:one", "c"), undefined);
    assert.throws(() => getChild(root, "urn:three", "b"), XmlError);
  });

  test("joins text, CDATA and entities", () => {
    assert.equal(textOf(parseXml("<a>x &amp; <![CDATA[<y>]]>&#233;</a>")), "x & <y>é");
  });

  test("accepts each of UTF-8's names", () => {
    for (const name of ["UTF-8", "utf-8", "UTF8", "us-ascii"]) {
      assert.equal(parseXml(`<?xml version="1.0" encoding="${name}"?><a/>`).name, "a");
    }
  });

  test("refuses a DOCTYPE, its entities, and encodings other than UTF-8", () => {
    for (const text of [
      "<!DOCTYPE a><a/>",
      '<!DOCTYPE a [<!ENTITY e "boom">]><a>&e;</a>',
      "<a>&e;</a>",
      '<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
    ]) {
      assert.throws(() => parseXml(text), XmlError, text);
    }
  });

  test("refuses malformed XML", () => {
    for (const text of [
      "",
      " ",
      "x",
      "<a>",
      "<a></b>",
      "<a/><b/>",
      "<a b=1/>",
      "<p:a/>",
      "<a>\u0000</a>",
      "<a b='1' b='2'/>",
    ]) {
      assert.throws(() => parseXml(text), XmlError, text);
    }
  });

  test("refuses too deep nesting, too many elements and too many attributes", () => {
    const nested = (depth: number) => "<a>".repeat(depth) + "</a>".repeat(depth);
    assert.equal(parseXml(nested(xmlDepthMax)).name, "a");
    assert.throws(() => parseXml(nested(xmlDepthMax + 1)), XmlError);
    assert.throws(() => parseXml(`<a>${"<b/>".repeat(xmlElementsMax)}</a>`), XmlError);
    const attributes = (count: number) => Array.from({ length: count }, (_, index) => ` x${index}=""`).join("");
    assert.equal(parseXml(`<a${attributes(64)}/>`).name, "a");
    assert.throws(() => parseXml(`<a${attributes(65)}/>`), XmlError);
    for (const perElement of [16, 64]) {
      const elements = `<b${attributes(perElement)}/>`.repeat(Math.ceil(xmlAttributesMax / perElement) + 1);
      assert.throws(
        () => parseXml(`<a>${elements}<<<`),
        new XmlError(`more than ${xmlAttributesMax} attributes in all`),
      );
    }
  });

  test("refuses too many namespace declarations, wherever they are, as soon as it has read them", () => {
    const declaring = (count: number) => `<b${' xmlns:p="urn:p"'}/>`.repeat(count);
    const nested = (count: number) => "<b xmlns='urn:b'>".repeat(count) + "</b>".repeat(count);
    for (const [start, end] of [
      ["<a>", "</a>"],
      ["<a>&amp;", "</a>"],
    ] as const) {
      assert.equal(parseXml(`${start}${declaring(xmlNamespacesMax)}${end}`).name, "a");
      // The rest is not XML, so it was not read.
      for (const declarations of [declaring(xmlNamespacesMax), `${nested(60)}${declaring(xmlNamespacesMax - 60)}`]) {
        const text = `${start}${declarations}<b xmlns:p="urn:p" <<<`;
        assert.throws(() => parseXml(text), new XmlError(`more than ${xmlNamespacesMax} namespaces`));
      }
    }
  });

  test("a mutated frame is parsed or refused with an XmlError", () => {
    const frames = [greetingXml, responseXml(1000, "abc-1", availabilityXml("example.com", true))];
    const mutation = fc.record({
      at: fc.nat(),
      cut: fc.nat({ max: 20 }),
      insert: fc.string({ unit: "binary", maxLength: 10 }),
    });
    fc.assert(
      fc.property(
        fc.constantFrom(...frames),
        fc.array(mutation, { minLength: 1, maxLength: 4 }),
        (frame, mutations) => {
          let text = frame;
          for (const { at, cut, insert } of mutations) {
            const start = at % (text.length + 1);
            text = text.slice(0, start) + insert + text.slice(start + cut);
          }
          try {
            const root = parseXml(text);
            if (!isGreeting(root)) parseResponse(root);
          } catch (error) {
            assert.ok(error instanceof XmlError, `${error}`);
          }
        },
      ),
    );
  });
});

describe("writing XML", () => {
  test("any text that is written is read back", () => {
    const domain = elementsOf(domainNamespace);
    const text = fc
      .string({ unit: "grapheme" })
      .filter((chars) => !/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/.test(chars));
    fc.assert(
      fc.property(text, (chars) => {
        const root = parseXml(writeXml(domain("name", [chars], { s: chars })));
        assert.equal(root.attributes.get("s"), chars);
        assert.equal(root.children.join(""), chars);
        assert.equal(root.namespace, domainNamespace);
      }),
    );
  });

  test("keeps elements in their namespaces, also in none and when two share a prefix", () => {
    const source = parseXml(
      '<a xmlns="urn:x:thing-1.0"><b xmlns="urn:y:thing-1.0"><c xmlns=""/></b><d xmlns="urn:plain"/></a>',
    );
    const names = (element: XmlElement): string[] => [
      `${element.namespace} ${element.name}`,
      ...element.children.flatMap((child) => (typeof child === "object" && "name" in child ? names(child) : [])),
    ];
    assert.deepEqual(names(parseXml(writeXml(source))), names(source));
  });

  test("refuses characters that XML does not allow", () => {
    const epp = elementsOf(eppNamespace);
    for (const chars of ["\u0000", "\u000b", "\uffff", "\ud800"]) assert.throws(() => writeXml(epp("a", [chars])));
  });

  test("redacts secrets and the content of a credential's element", () => {
    const epp = elementsOf(eppNamespace);
    const sent = epp("login", [
      epp("clID", ["reg-1"]),
      epp("newPW", ["hunter2"]),
      epp("other", [new Secret("hunter2")]),
    ]);
    assert.match(writeXml(sent), /hunter2.*hunter2/);
    assert.doesNotMatch(writeXmlRedacted(sent), /hunter2/);
    const received = parseXml(
      '<x:infData xmlns:x="urn:x-1.0"><x:authInfo><x:ext><x:deep>hunter2</x:deep></x:ext></x:authInfo></x:infData>',
    );
    assert.equal(
      writeXmlRedacted(received),
      '<x:infData xmlns:x="urn:x-1.0"><x:authInfo>[secret]</x:authInfo></x:infData>',
    );
  });

  test("redacts what a registry shows of people, and not the names of domains", () => {
    const uri = "urn:ietf:params:xml:ns:contact-1.0";
    const info = `<contact:infData xmlns:contact="${uri}"><contact:id>DH1</contact:id><contact:postalInfo type="int"><contact:name>Ada</contact:name><contact:addr><contact:street>Mews 7</contact:street><contact:cc>GB</contact:cc></contact:addr></contact:postalInfo><contact:email>ada@mail.example</contact:email></contact:infData>`;
    const redacted = writeXmlRedacted(parseXml(info));
    assert.doesNotMatch(redacted, /Ada|Mews|ada@/);
    assert.match(redacted, /DH1.*GB/);
    const answer = (data: string) =>
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><resData>${data}</resData><extension><x:infData xmlns:x="urn:x-1.0"><x:taxNumber of="GB">GB123456</x:taxNumber></x:infData></extension></response></epp>`;
    assert.doesNotMatch(writeXmlRedacted(parseXml(answer(info))), /GB123456|of="GB"/);
    const domain =
      '<domain:infData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>a.example</domain:name></domain:infData>';
    assert.equal(writeXmlRedacted(parseXml(domain)), domain);
    assert.equal(writeXmlRedacted(parseXml(answer(domain))), answer(domain));
  });
});

describe("values", () => {
  test("reads dates with and without fraction, offset and time of day", () => {
    for (const [text, expected] of [
      ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
      ["2026-01-02T03:04:05.1234567Z", "2026-01-02T03:04:05.123Z"],
      ["2026-01-02T03:04:05.0+01:00", "2026-01-02T02:04:05.000Z"],
      ["2026-01-02T03:04:05-05:30", "2026-01-02T08:34:05.000Z"],
      ["2026-01-02T03:04:05+0200", "2026-01-02T01:04:05.000Z"],
      ["2026-01-02T03:04:05", "2026-01-02T03:04:05.000Z"],
      ["2026-01-02 03:04:05", "2026-01-02T03:04:05.000Z"],
      ["2026-01-02", "2026-01-02T00:00:00.000Z"],
    ] as const) {
      assert.equal(parseXmlDate(text).toISOString(), expected);
    }
    for (const text of ["", "tomorrow", "2026-13-01", "2026-01-02T25:00:00Z", "02.01.2026"]) {
      assert.throws(() => parseXmlDate(text), XmlError, text);
    }
  });

  test("reads booleans as XML Schema writes them and nothing else", () => {
    assert.deepEqual(["1", "true", "0", "false"].map(parseXmlBoolean), [true, true, false, false]);
    assert.throws(() => parseXmlBoolean("yes"), XmlError);
  });
});
