/**
 * The highest command counter and uid that this node has seen, written to disk before the command is executed. By the counter
 * a gateway detects that its database was restored; above the uid it allocates new ones.
 */
import { readFile } from "node:fs/promises";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { createSerialQueue } from "#lib/serial-queue.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

/** A header of requests to the control port that change something. */
export const commandCounterHeader = "deedhouse-command";

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Highest = Type.Object({ counter: count, uid: count });

interface HighestSeen {
  counter: number;
  uid: number;
}

export class Marks {
  readonly #path: string;
  readonly #queue = createSerialQueue();
  /** The content of the file. */
  #highest: HighestSeen;

  private constructor(path: string, highest: HighestSeen) {
    this.#path = path;
    this.#highest = highest;
  }

  /** @throws when the file cannot be read: the node must not forget what it has seen */
  static async open(path: string): Promise<Marks> {
    const text = await readFile(path, "utf8").catch(ignoreMissing);
    return new Marks(path, text === undefined ? { counter: 0, uid: 0 } : parseHighest(path, text));
  }

  get highest(): HighestSeen {
    return this.#highest;
  }

  /** Ignores lower values: commands may arrive out of order. The values are on disk once this returns. */
  async raise(seen: Partial<HighestSeen>): Promise<void> {
    if (!this.#isAbove(seen)) return;
    await this.#queue(async () => {
      if (!this.#isAbove(seen)) return;
      const { counter, uid } = this.#highest;
      const highest = { counter: Math.max(counter, seen.counter ?? 0), uid: Math.max(uid, seen.uid ?? 0) };
      await writeFileAtomic(this.#path, `${JSON.stringify(highest)}\n`);
      this.#highest = highest;
    });
  }

  #isAbove({ counter = 0, uid = 0 }: Partial<HighestSeen>): boolean {
    return counter > this.#highest.counter || uid > this.#highest.uid;
  }
}

function parseHighest(path: string, text: string): HighestSeen {
  try {
    return Value.Parse(Highest, JSON.parse(text));
  } catch (error) {
    const advice = "restore it from a backup, or remove it to continue without its content";
    throw new Error(`${path} cannot be read: ${advice}`, { cause: error });
  }
}
