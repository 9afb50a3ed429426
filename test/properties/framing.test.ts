/** RFC 5734 §4 twice: what the client's framing and the sandbox's must both do with any stream, and with each other's. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import {
  encodeFrame,
  FrameDecoder,
  FrameError,
  frameBytesMax,
  headBytesMax,
  refusedBytesMax,
} from "#registry/epp/frame.ts";
import { encodeFrame as encodeSandboxFrame, FrameLengthError, FrameReader } from "../../sandbox/registry/framing.ts";
import { defaultSettings } from "../../sandbox/registry/settings.ts";
import { seed } from "./seed.ts";

const runs = { seed, numRuns: 300 };

interface Framing {
  encode: (text: string) => Buffer;
  /** Takes chunks one after the other, and returns the bodies that each completes. */
  startReader: () => (chunk: Buffer) => Buffer[];
  lengthError: new (message: string) => Error;
  /** The longest frame that it does not refuse by its header. The client reads the head of a longer one than it takes. */
  headerBytesMax: number;
}

const framings: Readonly<Record<string, Framing>> = {
  client: {
    encode: encodeFrame,
    startReader: () => {
      const decoder = new FrameDecoder();
      return (chunk) => decoder.push(chunk);
    },
    lengthError: FrameError,
    headerBytesMax: refusedBytesMax,
  },
  sandbox: {
    encode: encodeSandboxFrame,
    startReader: () => {
      const reader = new FrameReader(defaultSettings.frameBytesMax);
      return (chunk) => [...reader.push(chunk)];
    },
    lengthError: FrameLengthError,
    headerBytesMax: frameBytesMax,
  },
};

const texts = fc.array(
  fc.oneof(
    { arbitrary: fc.string({ unit: "binary", minLength: 1 }), weight: 4 },
    { arbitrary: fc.nat({ max: 5_000 }).map((extra) => "é".repeat(extra + 1)), weight: 1 },
  ),
  { maxLength: 6 },
);

/** The stream in chunks of these sizes, one after the other and round again; 0 is a chunk without a byte. */
function* chunksOf(stream: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield stream.subarray(at, at + size);
    at += size;
  }
}

const chunkSizes = fc
  .array(
    fc.oneof(fc.constant(0), fc.constant(1), fc.integer({ min: 2, max: 9 }), fc.integer({ min: 10, max: 12_000 })),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .filter((sizes) => sizes.some((size) => size > 0));

const pairs = Object.keys(framings).flatMap((writer) =>
  Object.keys(framings).map((reader) => [writer, reader] as const),
);

for (const [writer, reader] of pairs) {
  test(`the ${reader} reads what the ${writer} frames, however the stream is cut`, () => {
    const { encode } = framings[writer]!;
    const { startReader } = framings[reader]!;
    fc.assert(
      fc.property(texts, chunkSizes, (bodies, sizes) => {
        const read = startReader();
        const received: string[] = [];
        for (const chunk of chunksOf(Buffer.concat(bodies.map(encode)), sizes))
          received.push(...read(chunk).map(String));
        assert.deepEqual(
          received,
          bodies.map((body) => Buffer.from(body).toString()),
        );
      }),
      runs,
    );
  });
}

for (const [name, { encode, startReader, lengthError, headerBytesMax }] of Object.entries(framings)) {
  describe(`the ${name}`, () => {
    const impossible = fc.oneof(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: headerBytesMax + 1, max: 0xffff_ffff }),
    );

    test("refuses a frame of less than 5 bytes, or more than it ever reads, at its fourth byte, wherever it stands", () => {
      fc.assert(
        fc.property(texts, impossible, chunkSizes, (bodies, length, sizes) => {
          const read = startReader();
          for (const chunk of chunksOf(Buffer.concat(bodies.map(encode)), sizes)) read(chunk);
          const header = Buffer.alloc(4);
          header.writeUInt32BE(length);
          assert.deepEqual(read(header.subarray(0, 3)), []);
          assert.throws(() => read(header.subarray(3)), lengthError);
        }),
        runs,
      );
    });

    test("keeps no memory for a frame that it refuses", () => {
      const before = process.memoryUsage().arrayBuffers;
      const header = Buffer.alloc(4);
      for (let length = frameBytesMax + 1; length <= 0xffff_ffff; length += 0x20_0000) {
        header.writeUInt32BE(length);
        const read = startReader();
        assert.throws(() => {
          read(header);
          read(Buffer.alloc(headBytesMax));
        }, lengthError);
      }
      // 2,000 frames of up to 4 GiB: were one of them allocated, it would be more than this.
      assert.ok(process.memoryUsage().arrayBuffers - before < frameBytesMax);
    });
  });
}
