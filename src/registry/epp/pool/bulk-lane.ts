import type { Clock } from "#lib/clock.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { EppNotSent, EppUnavailable } from "#registry/epp/errors.ts";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";

/** Of the registry's commands per second. */
const bulkShareMax = 0.1;
/** Further ones are refused at once. */
const bulkChecksWaitingMax = 1_000;

/**
 * The way of bulk checks to a session: at most a tenth of the registry's rate, and one check at a time, so that they hold at most one
 * session and one place in the line for it. What is refused or late here was only a question about a name.
 */
export class BulkLane {
  readonly #bucket: TokenBucket;
  readonly #oneByOne = createSerialQueue();
  #waitingCount = 0;

  /** @param commandsPerSecond the registry's limit for all commands together */
  constructor(commandsPerSecond: number, clock: Clock) {
    this.#bucket = new TokenBucket(bulkShareMax * commandsPerSecond, clock);
  }

  /** @throws EppUnavailable pool-full; EppNotSent when its turn comes and it is no longer wanted; the errors of `check` */
  async pass<T>(isWanted: () => boolean, check: () => Promise<T>): Promise<T> {
    if (this.#waitingCount >= bulkChecksWaitingMax) throw new EppUnavailable("pool-full");
    this.#waitingCount += 1;
    try {
      return await this.#oneByOne(async () => {
        if (!(await this.#bucket.take({ isWanted }))) throw new EppNotSent("no caller waits for it");
        return check();
      });
    } finally {
      this.#waitingCount -= 1;
    }
  }
}
