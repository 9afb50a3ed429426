import { hash } from "@node-rs/bcrypt";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

// One hash at a time costs one core at most (64 ms each at cost 10, measured), so that requests keep being answered;
// the rest wait, and the resellers take turns: one that posts a hundred accounts delays another by one hash, not by all.
// Nor can it take every place: when all are taken, whoever holds the most gives one to whoever holds fewer.

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

interface Job {
  password: Secret;
  resolve: (hashed: Secret) => void;
  reject: (error: unknown) => void;
}

/** The queue of one process; it holds clear text in memory only, and only until the hash is made. */
export function createPasswordQueue(settings: PasswordQueueSettings): PasswordQueue {
  /** Who waits, in the order of turns: a Map keeps the order in which keys were put in. No list is empty. */
  const waiting = new Map<string, Job[]>();
  let waitingCount = 0;
  let busy = false;

  async function workOff(): Promise<void> {
    busy = true;
    for (let job = takeNext(); job !== undefined; job = takeNext()) {
      await bcryptHash(job.password, settings).then(job.resolve, job.reject);
    }
    busy = false;
  }

  /** The first job of the reseller whose turn it is, who then goes to the end. */
  function takeNext(): Job | undefined {
    const [turn] = waiting;
    if (turn === undefined) return undefined;
    const [resellerId, jobs] = turn;
    const job = jobs.shift();
    waiting.delete(resellerId);
    if (jobs.length > 0) waiting.set(resellerId, jobs);
    waitingCount -= 1;
    return job;
  }

  /** Makes room for a reseller that waits for less than the greediest one, by turning away the latter's newest. */
  function yieldPlace(resellerId: string): boolean {
    const greediest = [...waiting.values()].reduce((most, jobs) => (jobs.length > most.length ? jobs : most), []);
    if (greediest.length <= (waiting.get(resellerId)?.length ?? 0) + 1) return false;
    greediest.pop()?.reject(new PasswordQueueFull());
    waitingCount -= 1;
    return true;
  }

  return {
    hash: (resellerId, password) => {
      if (waitingCount >= settings.waitingMax && !yieldPlace(resellerId)) {
        return Promise.reject(new PasswordQueueFull());
      }
      const { promise, resolve, reject } = Promise.withResolvers<Secret>();
      const jobs = waiting.get(resellerId) ?? [];
      jobs.push({ password, resolve, reject });
      waiting.set(resellerId, jobs);
      waitingCount += 1;
      if (!busy) void workOff();
      return promise;
    },
  };
}

/** @node-rs/bcrypt can only write `$2y$`, the same algorithm under PHP's name; ProFTPD's crypt() and we read `$2b$`. */
async function bcryptHash(password: Secret, settings: PasswordQueueSettings): Promise<Secret> {
  const hashed = await hash(password.reveal(), settings.cost, settings.random.bytes(saltBytes));
  return new Secret(hashed.replace(/^\$2y\$/, "$2b$$"));
}
