import { hash } from "@node-rs/bcrypt";
import { FairQueue, QueueFull } from "#lib/fair-queue.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

// One hash at a time costs one core at most (64 ms each at cost 10, measured), so that requests keep being answered;
// the rest wait, and the resellers take turns: one that posts a hundred accounts delays another by one hash, not by all.

/** What the hashes of customers' passwords cost: 64 ms each. */
export const bcryptCost = 10;

/** bcrypt's salt has 128 bits (Provos and Mazières 1999 §5). */
const saltBytes = 16;

export interface PasswordQueueSettings {
  /** How many may wait, beside the one being hashed, before new ones are turned away. */
  waitingMax: number;
  /** bcrypt's cost: the work doubles with each step. */
  cost: number;
  random: Random;
}

export interface PasswordQueue {
  /**
   * Hashes a password as bcrypt `$2b$`, off the event loop, when it is this reseller's turn.
   * @throws PasswordQueueFull before any work, when too many are waiting: at once, or when a reseller that waits for
   *   less needs the place
   */
  hash(resellerId: string, password: Secret): Promise<Secret>;
}

/** Too many passwords are waiting to be hashed: answer 503 and let the client try again. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
  /** A full queue of 32 is worked off in about 2 s at cost 10. */
  readonly retryAfterSeconds = 2;
  constructor() {
    super("Too many passwords are waiting to be hashed: try again in a moment.");
  }
}

/** The queue of one process; it holds clear text in memory only, and only until the hash is made. */
export function createPasswordQueue(settings: PasswordQueueSettings): PasswordQueue {
  const queue = new FairQueue({ runningMax: 1, waitingMax: settings.waitingMax });
  return {
    hash: async (resellerId, password) => {
      try {
        return await queue.run([[resellerId]], () => bcryptHash(password, settings));
      } catch (error) {
        throw error instanceof QueueFull ? new PasswordQueueFull() : error;
      }
    },
  };
}

/** @node-rs/bcrypt can only write `$2y$`, the same algorithm under PHP's name; ProFTPD's crypt() and we read `$2b$`. */
async function bcryptHash(password: Secret, settings: PasswordQueueSettings): Promise<Secret> {
  const hashed = await hash(password.reveal(), settings.cost, settings.random.bytes(saltBytes));
  return new Secret(hashed.replace(/^\$2y\$/, "$2b$$"));
}
