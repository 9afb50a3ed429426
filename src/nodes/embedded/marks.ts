/**
 * The highest uid that this node has seen, written to disk before the account is created: a gateway whose database was restored
 * allocates new uids above it.
 */
import { readFile } from "node:fs/promises";
import { Type } from "typebox";
import { Value } from "typebox/value";
import { createSerialQueue } from "#lib/serial-queue.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Highest = Type.Object({ counter: count, uid: count });

interface HighestSeen {
  /** Of commands to the control port, which nodes had before they had agents. The first version of a state is above it. */
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

  /** Ignores lower uids. The uid is on disk once this returns. */
  async raise(uid: number): Promise<void> {
    if (uid <= this.#highest.uid) return;
    await this.#queue(async () => {
      if (uid <= this.#highest.uid) return;
      const highest = { ...this.#highest, uid };
      await writeFileAtomic(this.#path, `${JSON.stringify(highest)}\n`);
      this.#highest = highest;
    });
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
