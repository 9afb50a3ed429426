import { randomBytes, randomInt, randomUUID } from "node:crypto";

/** Where randomness comes from. Code asks its context for it, so that a simulation can replay a seed. */
export interface Random {
  /** `size` unpredictable bytes. */
  bytes(size: number): Buffer;
  /** A whole number from 0 to `limit` − 1. */
  below(limit: number): number;
  /** A version 4 UUID. */
  uuid(): string;
}

export const systemRandom: Random = {
  bytes: (size) => randomBytes(size),
  below: (limit) => randomInt(limit),
  uuid: () => randomUUID(),
};
