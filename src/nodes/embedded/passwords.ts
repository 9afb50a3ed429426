import { hash, verify } from "@node-rs/bcrypt";
import { FairQueue } from "#lib/queues/fair-queue.ts";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { Guesser } from "#nodes/embedded/ftp/guesses.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";

/** bcrypt reads no further: a longer password would match with anything after these bytes. */
const passwordBytesMax = 72;

/** The gateway's cost, so that checks of unknown users take as long as those of known ones. */
const bcryptCost = 10;

/**
 * Checks passwords off the event loop, a few at a time, so that guessing does not take all cores. Known logins take turns with
 * all strangers together; within each group, addresses and accounts take turns.
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
   * @throws QueueFull; the signal's reason when the client disconnects before its turn, so that such clients do not delay
   *   others
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
