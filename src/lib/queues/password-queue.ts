import { hash } from "@node-rs/bcrypt";
import { showing } from "#lib/measure/measure.ts";
import { FairQueue, QueueFull } from "#lib/queues/fair-queue.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

// One hash at a time uses at most one core (64 ms each at cost 10, measured), so that requests are still answered. The
// rest wait, and resellers take turns: one that posts a hundred accounts delays another by one hash, not by all.

/** The cost of customers' password hashes: 64 ms each. */
export const bcryptCost = 10;

/** bcrypt's salt has 128 bits (Provos and Mazières 1999 §5). */
const saltBytes = 16;

export interface PasswordQueueSettings {
  /** How many may wait, in addition to the one in progress, before new ones are refused. */
  waitingMax: number;
  /** bcrypt's cost: the work doubles with each step. */
  cost: number;
  random: Random;
}

export interface PasswordQueue {
  /**
   * Hashes a password as bcrypt `$2b$`, off the event loop, when the reseller's turn comes.
   * @throws PasswordQueueFull before any work, when too many are waiting: at once, or when a reseller with fewer
   * waiting passwords needs the place
   */
  hash(resellerId: string, password: Secret): Promise<Secret>;
}

/** Too many passwords are waiting to be hashed: answer 503 and let the client retry. */
export class PasswordQueueFull extends Error {
  override readonly name = "PasswordQueueFull";
  /** A full queue of 32 takes about 2 s at cost 10. */
  readonly retryAfterSeconds = 2;
  constructor() {
    super("Too many passwords are waiting to be hashed: try again in a moment.");
  }
}

/** The queue of one process. It holds clear text in memory only, and only until the hash is made. */
export function createPasswordQueue(settings: PasswordQueueSettings): PasswordQueue {
  const queue = new FairQueue({ runningMax: 1, waitingMax: settings.waitingMax });
  showing("password_queue_waiting", () => [[{}, queue.waitingCount]]);
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

/** @node-rs/bcrypt only writes `$2y$`, PHP's name for the same algorithm; ProFTPD's crypt() and we read `$2b$`. */
async function bcryptHash(password: Secret, settings: PasswordQueueSettings): Promise<Secret> {
  const hashed = await hash(password.reveal(), settings.cost, settings.random.bytes(saltBytes));
  return new Secret(hashed.replace(/^\$2y\$/, "$2b$$"));
}
