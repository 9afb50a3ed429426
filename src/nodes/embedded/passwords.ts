import { hash, verify } from "@node-rs/bcrypt";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

/** bcrypt reads no further: a longer password would open the account with anything behind these bytes. */
const passwordBytesMax = 72;

/** The cost that the gateway hashes with, so that an unknown user takes as long as a known one. */
const bcryptCost = 10;

/** Checks passwords off the event loop, a few at a time, so that guessing leaves the machine its cores. */
export class Passwords {
  readonly #hashesMax: number;
  readonly #nobody: Secret;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  private constructor(hashesMax: number, nobody: Secret) {
    this.#hashesMax = hashesMax;
    this.#nobody = nobody;
  }

  static async create(hashesMax: number, random: Random): Promise<Passwords> {
    return new Passwords(hashesMax, new Secret(await hash(random.bytes(32).toString("base64url"), bcryptCost)));
  }

  /**
   * Whether the password has this hash. Without a hash: false, in the same time.
   * @throws the signal's reason when who asks is gone before its turn: those who ask and leave must not keep others waiting
   */
  async isRight(password: Secret, passwordHash: Secret | undefined, signal: AbortSignal): Promise<boolean> {
    await this.#enter();
    try {
      signal.throwIfAborted();
      const isSame = await verify(password.reveal(), (passwordHash ?? this.#nobody).reveal());
      return isSame && passwordHash !== undefined && Buffer.byteLength(password.reveal()) <= passwordBytesMax;
    } finally {
      this.#leave();
    }
  }

  async #enter(): Promise<void> {
    if (this.#running < this.#hashesMax) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** A waiting check takes over the place of the one that ends. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running -= 1;
    else next();
  }
}
