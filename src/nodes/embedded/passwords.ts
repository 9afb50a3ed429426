import { hash, verify } from "@node-rs/bcrypt";
import { FairQueue } from "#lib/fair-queue.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { Guesser } from "#nodes/embedded/ftp/guesses.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";

/** bcrypt reads no further: a longer password would open the account with anything behind these bytes. */
const passwordBytesMax = 72;

/** The cost that the gateway hashes with, so that an unknown user takes as long as a known one. */
const bcryptCost = 10;

/**
 * Checks passwords off the event loop, a few at a time, so that guessing leaves the machine its cores. Those who have logged
 * in lately take turns with all strangers together; among each, addresses and accounts take turns.
 */
export class Passwords {
  readonly #queue: FairQueue;
  readonly #nobody: Secret;

  private constructor(queue: FairQueue, nobody: Secret) {
    this.#queue = queue;
    this.#nobody = nobody;
  }

  static async create({ hashesMax, hashesWaitingMax }: EmbeddedNodeLimits, random: Random): Promise<Passwords> {
    const queue = new FairQueue({ runningMax: hashesMax, waitingMax: hashesWaitingMax });
    return new Passwords(queue, new Secret(await hash(random.bytes(32).toString("base64url"), bcryptCost)));
  }

  /**
   * Whether the password has this hash. Without a hash: false, in the same time.
   * @throws QueueFull; the signal's reason when who asks is gone before its turn: those who ask and leave must not keep
   *   others waiting
   */
  isRight(guesser: Guesser, password: Secret, passwordHash: Secret | undefined, signal: AbortSignal): Promise<boolean> {
    const { source, account, isKnown } = guesser;
    const sponsors = [[isKnown ? "known" : "strangers"], [`address ${source}`, `account ${account}`]];
    const check = async () => {
      const isSame = await verify(password.reveal(), (passwordHash ?? this.#nobody).reveal());
      return isSame && passwordHash !== undefined && Buffer.byteLength(password.reveal()) <= passwordBytesMax;
    };
    return this.#queue.run(sponsors, check, signal);
  }
}
