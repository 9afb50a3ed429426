import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { nameToWire, wireNameText } from "#dns/names.ts";
import { type Message, messageBytesMax, parseMessage, WireProblem, writeMessage } from "#dns/wire.ts";
import { seed } from "../../test/properties/seed.ts";

const label = fc.uint8Array({ minLength: 1, maxLength: 63 }).map((bytes) => Buffer.from(bytes));
/** Names with common endings, so that they are compressed, and with any bytes. */
const name = fc.oneof(
  fc
    .array(fc.constantFrom("a", "b", "example", "com"), { maxLength: 6 })
    .map((labels) => nameToWire(`${labels.join(".")}.`)),
  fc
    .array(label, { maxLength: 3 })
    .map((labels) => Buffer.concat([...labels.flatMap((bytes) => [Buffer.of(bytes.length), bytes]), Buffer.of(0)])),
);
const uint16 = fc.nat({ max: 65_535 });
const record = fc.record({
  name,
  type: uint16,
  class: uint16,
  ttl: fc.nat({ max: 2 ** 32 - 1 }),
  rdata: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});
const messages: fc.Arbitrary<Message> = fc.record({
  id: uint16,
  flags: uint16,
  questions: fc.array(fc.record({ name, type: uint16, class: uint16 }), { maxLength: 2 }),
  answers: fc.array(record, { maxLength: 5 }),
  authority: fc.array(record, { maxLength: 5 }),
  additional: fc.array(record, { maxLength: 5 }),
});

/** Compression takes two names as one that differ in case only, so they are compared in lower case. */
const lowered = (message: Message) =>
  JSON.stringify(message, (key, value) => (key === "name" ? wireNameText(Buffer.from(value.data)) : value));

test("any message is read as it was written", () => {
  fc.assert(
    fc.property(messages, (message) => {
      const bytes = writeMessage(message, messageBytesMax)!;
      const read = parseMessage(bytes);
      assert.equal(lowered(read), lowered(message));
      assert.deepEqual(writeMessage(read, bytes.length), bytes);
      assert.equal(writeMessage(read, bytes.length - 1), undefined);
    }),
    { seed },
  );
});

test("any bytes are a message or a problem", () => {
  const damage = fc.array(fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }), kind: fc.nat({ max: 3 }) }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(messages, damage, (message, wounds) => {
      let bytes = writeMessage(message, messageBytesMax)!;
      for (const { at, byte, kind } of wounds) {
        const place = at % (bytes.length + 1);
        const middle = kind === 1 ? [byte] : kind === 2 ? [0xc0, byte] : [];
        const rest = bytes.subarray(kind === 1 ? place : place + middle.length);
        bytes =
          kind === 0 ? bytes.subarray(0, place) : Buffer.concat([bytes.subarray(0, place), Buffer.from(middle), rest]);
      }
      try {
        parseMessage(bytes);
      } catch (error) {
        assert.ok(error instanceof WireProblem, String(error));
      }
    }),
    { seed, numRuns: 3_000 },
  );
});

describe("a message is refused", () => {
  const head = "000101000001000000000000";
  const cases: Readonly<Record<string, string>> = {
    "without a whole header": head.slice(0, 22),
    "without its question": head,
    "with a question that ends early": `${head}0161000001`,
    "with a label that ends early": `${head}0561`,
    "with bytes after its end": `${head}016100000100010000`,
    "with a pointer to itself": `${head}c00c00010001`,
    "with a pointer forwards": `${head}c01200010001016100`,
    "with a pointer that ends early": `${head}c0`,
    "with two pointers in a circle": `${head}0161c00c00010001`,
    "with a label of an unknown form": `${head}41610000010001`,
    "with a name of more than 255 bytes": `${head}${`3f${"61".repeat(63)}`.repeat(4)}0000010001`,
  };
  for (const [what, hex] of Object.entries(cases)) {
    test(what, () => assert.throws(() => parseMessage(Buffer.from(hex, "hex")), WireProblem));
  }
});

test("a name has at most 64 pointers", () => {
  // The first record holds bytes that a pointer chain runs through: each pointer leads to the one before.
  const chain = (hops: number) => {
    const links = Array.from({ length: hops }, (_, index) => {
      const target = index === 0 ? 12 : 23 + (index - 1) * 2;
      return Buffer.of(0xc0 | (target >> 8), target & 255);
    });
    const rdata = Buffer.concat(links.slice(0, -1));
    const head = Buffer.from("000100000000000200000000", "hex");
    const first = Buffer.concat([Buffer.from("0000010001000000000000", "hex")]);
    first.writeUInt16BE(rdata.length, 9);
    return Buffer.concat([head, first, rdata, links.at(-1)!, Buffer.from("00010001000000000000", "hex")]);
  };
  assert.equal(parseMessage(chain(64)).answers.length, 2);
  assert.throws(() => parseMessage(chain(65)), WireProblem);
});

test("a name is compressed with its first appearance, in any case", () => {
  const question = { name: nameToWire("www.example.com."), type: 1, class: 1 };
  const answer = {
    name: Buffer.from("\x04MAIL\x07EXAMPLE\x03com\0", "latin1"),
    type: 1,
    class: 1,
    ttl: 1,
    rdata: Buffer.alloc(4),
  };
  const message = { id: 1, flags: 0, questions: [question], answers: [answer], authority: [], additional: [] };
  const bytes = writeMessage(message, messageBytesMax)!;
  assert.equal(bytes.subarray(33, 40).toString("hex"), "044d41494cc010");
});

test("bytes that our names cannot have are escaped in their text", () => {
  const wire = Buffer.from("\x05A.b\0@\x01*\x00", "latin1");
  assert.equal(wireNameText(wire), String.raw`a\046b\000\064.*.`);
});
