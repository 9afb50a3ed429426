/** Frames that are let through for their shape, judged by the schemas: the same verdict, whatever stands in them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Secret } from "#lib/secret.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import { rememberingShapes } from "#registry/epp/xml/frame-shapes.ts";
import { EppFrameInvalid, type FrameValidator, loadSchemas } from "#registry/epp/xml/schema.ts";
import { writeXml } from "#registry/epp/xml/writer.ts";
import { isElement, parseXml, type XmlElement, type XmlNode } from "#registry/epp/xml/xml.ts";
import { exampleFrames } from "./mutations.ts";
import { seed } from "./seed.ts";

const judge = await loadSchemas();

function isValid(validate: FrameValidator, xml: string): boolean {
  try {
    validate(xml);
    return true;
  } catch (error) {
    assert.ok(error instanceof EppFrameInvalid, String(error));
    return false;
  }
}

/** As our own writer would send them, with our prefixes and without white space between elements. */
const frames = exampleFrames
  .map((xml) => withoutLayout(parseXml(xml)))
  .filter((root) => isValid(judge, writeXml(root)));

function withoutLayout(element: XmlElement): XmlElement {
  const inner = element.children.filter(isElement).map(withoutLayout);
  return inner.length > 0 ? { ...element, children: inner } : element;
}

const lengths = [0, 1, 2, 3, 16, 17, 63, 64, 65, 255, 256];
const text = fc.oneof(
  fc.constantFrom(...lengths).map((length) => "a".repeat(length)),
  fc.stringMatching(/^[a-z0-9.-]{1,20}$/),
  fc.stringMatching(/^[\w.-]{3,16}$/),
  fc.constantFrom(
    " a.example",
    "a  b",
    "a\tb",
    "a\nb",
    "é.example",
    "-",
    "..",
    "a b",
    "<",
    "&",
    "]]>",
    "a\u00a0b",
    "admin",
  ),
  fc.string({ maxLength: 5 }).filter((chars) => !/[\u0000-\u001f]/.test(chars)),
);

type Change = (element: XmlElement) => XmlElement[];

/** Changes one element of a tree: the so-and-so-many-th from its root. */
function changed(root: XmlElement, place: number, change: Change): XmlElement {
  let left = place;
  const visit = (element: XmlElement): XmlElement[] => {
    if (left-- === 0) return change(element);
    const children = element.children.flatMap((child): readonly XmlNode[] =>
      isElement(child) ? visit(child) : [child],
    );
    return [{ ...element, children }];
  };
  return visit(root)[0] ?? root;
}

/** The elements of a tree, in the order in which `changed` counts them. */
const elementsIn = (element: XmlElement): XmlElement[] => [
  element,
  ...element.children.filter(isElement).flatMap(elementsIn),
];

const changing = new Set(["name", "clTRID", "registrant", "contact", "pw"]);

/** Where to change a tree: anywhere, and most of the time where values are left out of shapes. */
function placeIn(root: XmlElement): fc.Arbitrary<number> {
  const places = elementsIn(root).map(({ name }, place) => ({ name, place }));
  const left = places.filter(({ name }) => changing.has(name)).map(({ place }) => place);
  const anywhere = fc.nat({ max: places.length - 1 });
  return left.length === 0 ? anywhere : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...left) }, anywhere);
}

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: text.map(
      (value): Change =>
        (element) => [{ ...element, children: [value] }],
    ),
  },
  text.map(
    (value): Change =>
      (element) => [{ ...element, attributes: new Map([["type", value]]) }],
  ),
  text.map(
    (value): Change =>
      (element) => [
        {
          ...element,
          attributes: new Map([
            ["roid", value],
            ["hosts", "all"],
          ]),
        },
      ],
  ),
  fc.constant<Change>((element) => [element, element]),
  fc.constant<Change>(() => []),
  fc.constant<Change>((element) => [{ ...element, namespace: "urn:other:domain-1.0" }]),
  fc.constantFrom("name", "clTRID", "pw", "registrant").map(
    (name): Change =>
      (element) => [{ ...element, name }],
  ),
);

test("a frame is let through for its shape only if the schemas allow it", (context) => {
  let judged = 0;
  const quick = rememberingShapes((xml) => {
    judged += 1;
    judge(xml);
  });
  for (const root of frames) quick(writeXml(root));
  const counts = { frames: 0, valid: 0, quick: 0 };
  const spoiledFrame = fc
    .constantFrom(...frames)
    .chain((root) =>
      fc
        .array(fc.tuple(placeIn(root), change), { minLength: 1, maxLength: 2 })
        .map((changes) => changes.reduce((tree, [place, make]) => changed(tree, place, make), root)),
    );
  fc.assert(
    fc.property(spoiledFrame, (root) => {
      const xml = writeXml(root);
      const before = judged;
      const isLetThrough = isValid(quick, xml);
      assert.equal(isLetThrough, isValid(judge, xml), xml);
      counts.frames += 1;
      if (isLetThrough) counts.valid += 1;
      if (judged === before) counts.quick += 1;
    }),
    { seed, numRuns: 5_000 },
  );
  context.diagnostic(JSON.stringify(counts));
  assert.ok(counts.quick > 100 && counts.valid > counts.quick && counts.valid < counts.frames);
});

/** What two such commands cost in looks at the schemas. */
function looksFor(frameOf: (clTRID: string) => XmlElement): number {
  let looks = 0;
  const quick = rememberingShapes(() => {
    looks += 1;
  });
  for (const clTRID of ["ABC-1", "ABCD-22"]) quick(writeXml(frameOf(clTRID)));
  return looks;
}

test("the create of the next order needs no schema", () => {
  let serial = 0;
  const create = (clTRID: string) => {
    serial += 1;
    const contacts = [{ type: "tech", id: `DH${serial}${serial}` } as const];
    const authInfo = new Secret(`secret_-${serial}`);
    return domainCreate({ name: `a${serial}.example`, periodYears: 1, registrant: "DHA", contacts, authInfo }).frame(
      clTRID,
    );
  };
  assert.equal(looksFor(create), 1);
});

test("a login is not remembered: its password is none of the memory's business", () => {
  const services = { objectURIs: [], extensionURIs: [], language: "en" };
  const command = login({ registrarId: "ClientX", password: new Secret("foo-BAR2") }, services);
  assert.equal(
    looksFor(() => command.frame("ABC-1")),
    2,
  );
});
