import { randomBytes, randomInt, randomUUID } from "node:crypto";

/** The source of randomness. Code takes it from its context, so that a simulation can replay a seed. */
export interface Random {
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
  /** A whole number from 0 to `limit` − 1. */
  below(limit: number): number;
  /** A version 4 UUID. */
  uuid(): string;
}

/** A call of the generator costs about 10 µs for one byte or for thousands, and an order needs a few bytes. */
const drawnBytes = 4_096;
let drawn = Buffer.alloc(0);

/** Takes bytes that are given out once: drawn bytes are dropped as they are taken. */
function takeBytes(size: number): Buffer {
  if (size > drawnBytes) return randomBytes(size);
  if (size > drawn.length) drawn = randomBytes(drawnBytes);
  const taken = Buffer.from(drawn.subarray(0, size));
  drawn.fill(0, 0, size);
  drawn = drawn.subarray(size);
  return taken;
}

export const systemRandom: Random = {
  bytes: takeBytes,
  below: (limit) => randomInt(limit),
  uuid: () => randomUUID(),
};
