/** Frames spoiled in every way that a broken or hostile peer may send them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";

const folder = join(import.meta.dirname, "../vectors/rfc-frames");

/** The example frames of the RFCs: valid EPP of every kind, and some that is not. */
export const exampleFrames: readonly string[] = globSync("*/*.xml", { cwd: folder })
  .sort()
  .map((path) => readFileSync(join(folder, path), "utf8"));

/** What has broken parsers before. */
const poisons: readonly Buffer[] = [
  '<!DOCTYPE epp [<!ENTITY a "boom">]>',
  '<!DOCTYPE epp SYSTEM "file:///etc/passwd">',
  ...["&a;", "&#0;", "&#xD800;", "&#x110000;", "&#xFFFE;", "&amp", "&lt;", "&#38;#60;"],
  ...["<![CDATA[", "]]>", "<!--", "-->", "--", "<?xml version='1.1'?>", "<?xml encoding='UTF-16'?>", "<?a", "?>"],
  ...["<", ">", "/>", "</epp>", '<epp xmlns="urn:ietf:params:xml:ns:epp-1.0">', "<x:y>", ' xmlns:p=""', ' xmlns=""'],
  ...["\0", "\u0001", "\ufffe", "\ufeff", "\u2028", "\r", "𐀀", `code="1000"`, "<clTRID>ABC-12345</clTRID>"],
  "<a>".repeat(100_000),
  `${"<b/>".repeat(30_000)}`,
  ` a="${"x".repeat(100_000)}"`,
  Array.from({ length: 1_000 }, (_, index) => ` a${index}=""`).join(""),
  "&amp;".repeat(10_000),
]
  .map((text) => Buffer.from(text))
  .concat([Buffer.of(0xff), Buffer.of(0xc0, 0x80), Buffer.of(0xed, 0xa0, 0x80), Buffer.of(0xf4, 0x90, 0x80, 0x80)]);

type Mutation = (frame: Buffer) => Buffer;

/** Without fast-check's liking for ends: a frame spoiled at its first byte is dull. */
const position = fc.noBias(fc.double({ min: 0, max: 1, noNaN: true }));
const at = (frame: Buffer, where: number): number => Math.floor(where * frame.length);

/** Values that are well-formed XML, but not what their elements want. */
const oddValues = [
  ...["", " ", "1000", "1301", "-1", "1e9", "٣", "true", "yes", "2026-02-30", "2026-01-01T24:00:00Z", "0000-00-00"],
  ...["9999999999", "&#x10FFFF;", "<![CDATA[<x/>]]>", "a&amp;b", "xn--a", "example.net", "\u00e9".repeat(100)],
  ...["<!-- c -->", "<?p?>", "<x/>", '<domain:x xmlns:domain="urn:other"/>', "urn:ietf:params:xml:ns:domain-1.0"],
];

/** Changes the part that a pattern finds at or behind a place, and so leaves most of the frame as well-formed as it was. */
function replaceFound(pattern: RegExp, change: (found: string) => string, where: number): Mutation {
  return (frame) => {
    const text = frame.toString("latin1");
    const start = at(frame, where);
    const behind = text.slice(start).replace(pattern, (found) => Buffer.from(change(found)).toString("latin1"));
    return Buffer.from(text.slice(0, start) + behind, "latin1");
  };
}

const leaf = /<([\w:]+)[^<>]*>[^<>]*<\/\1>|<[\w:]+[^<>]*\/>/;

const careful: fc.Arbitrary<Mutation> = fc
  .tuple(position, fc.constantFrom(...oddValues), fc.integer({ min: 0, max: 3 }))
  .chain(([where, value, times]) =>
    fc.constantFrom(
      replaceFound(/(?<=>)[^<>]*(?=<\/)/, () => value, where),
      replaceFound(/(?<==")[^"<>]*(?=")/, () => value.replace(/[<>"]/g, ""), where),
      replaceFound(leaf, (element) => element.repeat(times), where),
      replaceFound(leaf, (element) => value + element, where),
    ),
  );

const rough: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(position, fc.nat({ max: 7 })).map(([where, bit]): Mutation => {
    return (frame) => {
      const flipped = Buffer.from(frame);
      const index = Math.min(at(frame, where), frame.length - 1);
      if (index >= 0) flipped[index] = (flipped[index] ?? 0) ^ (1 << bit);
      return flipped;
    };
  }),
  position.map(
    (where): Mutation =>
      (frame) =>
        frame.subarray(0, at(frame, where)),
  ),
  fc.tuple(position, fc.nat({ max: 200 })).map(([where, bytes]): Mutation => {
    return (frame) => Buffer.concat([frame.subarray(0, at(frame, where)), frame.subarray(at(frame, where) + bytes)]);
  }),
  fc.tuple(position, fc.nat({ max: 200 }), fc.integer({ min: 2, max: 40 })).map(([where, bytes, times]): Mutation => {
    return (frame) => {
      const [start, end] = [at(frame, where), at(frame, where) + bytes];
      const again = Array.from({ length: times }, () => frame.subarray(start, end));
      return Buffer.concat([frame.subarray(0, start), ...again, frame.subarray(end)]);
    };
  }),
  fc.tuple(position, fc.constantFrom(...poisons)).map(([where, poison]): Mutation => {
    return (frame) => Buffer.concat([frame.subarray(0, at(frame, where)), poison, frame.subarray(at(frame, where))]);
  }),
);

/** Some spoilings, one after the other: half of the time such that XML may be left. */
export const mutations: fc.Arbitrary<Mutation> = fc
  .oneof(fc.array(careful, { minLength: 1, maxLength: 3 }), fc.array(rough, { minLength: 1, maxLength: 2 }))
  .map((several) => (frame) => several.reduce((spoiled, mutate) => mutate(spoiled), frame));

/** One of the frames, spoiled: the bytes of a data unit's body. */
export function spoiled(frames: readonly string[]): fc.Arbitrary<Buffer> {
  return fc.tuple(fc.constantFrom(...frames), mutations).map(([frame, mutate]) => mutate(Buffer.from(frame)));
}
