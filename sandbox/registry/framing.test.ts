import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame, FrameLengthError, FrameReader } from "./framing.ts";

function header(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

test("reads the same frames whatever the chunks of the stream", () => {
  const stream = Buffer.concat(["one", "zwei", "three"].map((body) => encodeFrame(body)));
  for (let cut = 1; cut <= stream.length; cut += 1) {
    const reader = new FrameReader(100);
    const bodies: string[] = [];
    for (let at = 0; at < stream.length; at += cut) {
      for (const body of reader.push(stream.subarray(at, at + cut))) bodies.push(body.toString());
    }
    assert.deepEqual(bodies, ["one", "zwei", "three"]);
  }
});

test("refuses a length without a body, and one above the limit, from the header alone", () => {
  for (const length of [0, 4, 101]) {
    assert.throws(() => [...new FrameReader(100).push(header(length))], FrameLengthError);
  }
  assert.deepEqual([...new FrameReader(100).push(header(100))], []);
});
