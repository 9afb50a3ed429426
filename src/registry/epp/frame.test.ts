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

function header(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

describe("framing", () => {
  test("the length counts its own four bytes and the body's bytes, not its characters", () => {
    assert.deepEqual(encodeFrame("é"), Buffer.from([0, 0, 0, 6, 0xc3, 0xa9]));
  });

  test("returns every body, however the stream is split", () => {
    const bodies = fc.array(fc.string({ unit: "binary", minLength: 1 }), { maxLength: 8 });
    const cuts = fc.array(fc.nat({ max: 40 }), { minLength: 1 });
    fc.assert(
      fc.property(bodies, cuts, (texts, sizes) => {
        const stream = Buffer.concat(texts.map(encodeFrame));
        const decoder = new FrameDecoder();
        const received: string[] = [];
        for (let offset = 0, turn = 0; offset < stream.length; turn += 1) {
          const size = 1 + (sizes[turn % sizes.length] as number);
          received.push(...decoder.push(stream.subarray(offset, offset + size)).map(String));
          offset += size;
        }
        assert.deepEqual(
          received,
          texts.map((text) => Buffer.from(text).toString()),
        );
        assert.equal(decoder.isPartial, false);
      }),
    );
  });

  test("takes the longest frame byte by byte", () => {
    const decoder = new FrameDecoder();
    const body = "x".repeat(frameBytesMax - 4);
    const frame = encodeFrame(body);
    let received: Buffer[] = [];
    for (let offset = 0; offset < frame.length; offset += 1)
      received = decoder.push(frame.subarray(offset, offset + 1));
    assert.equal(received[0]?.length, body.length);
  });

  test("refuses a frame shorter than 5 bytes or longer than 64 MiB as soon as its header is there", () => {
    for (const length of [0, 1, 4, refusedBytesMax + 1, 0x7fffffff, 0xffffffff]) {
      assert.throws(() => new FrameDecoder().push(header(length)), FrameError);
    }
    assert.deepEqual(new FrameDecoder().push(header(frameBytesMax)), []);
    assert.throws(() => encodeFrame("x".repeat(frameBytesMax - 3)), FrameError);
  });

  test("refuses a frame longer than 4 MiB with its first 16 KiB, and keeps no more of it", () => {
    for (const length of [frameBytesMax + 1, refusedBytesMax]) {
      const decoder = new FrameDecoder();
      assert.deepEqual(decoder.push(header(length)), []);
      assert.deepEqual(decoder.push(Buffer.alloc(headBytesMax - 1, "x")), []);
      assert.throws(
        () => decoder.push(Buffer.alloc(1_000_000, "y")),
        (error: FrameError) => {
          assert.equal(String(error.head), `${"x".repeat(headBytesMax - 1)}y`);
          return true;
        },
      );
    }
  });

  test("knows that it is in the middle of a frame or of a header", () => {
    const decoder = new FrameDecoder();
    assert.equal(decoder.isPartial, false);
    decoder.push(Buffer.of(0));
    assert.equal(decoder.isPartial, true);
    decoder.push(Buffer.of(0, 0, 5, 65));
    assert.equal(decoder.isPartial, false);
  });
});
