/**
 * The highest uid that this node has seen, written to disk before the account is created: a gateway whose database was restored
 * allocates new uids above it.
 */
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { earlierFormat } from "#lib/earlier-format.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
/** Before 0.1.0 some nodes had a counter of the commands to their control port. */
const Kept = Type.Object({ uid: count, counter: Type.Optional(count) });

export class Marks {
  readonly #path: string;
  readonly #queue = createSerialQueue();
  /** The content of the file. */
  #highestUid: number;

  private constructor(path: string, highestUid: number) {
    this.#path = path;
    this.#highestUid = highestUid;
  }

  /** @throws when the file cannot be read: the node must not forget what it has seen */
  static async open(path: string): Promise<Marks> {
    const text = await readFile(path, "utf8").catch(ignoreMissing);
    return new Marks(path, text === undefined ? 0 : parseHighest(path, text));
  }

  get highestUid(): number {
    return this.#highestUid;
  }

  /** Ignores lower uids. The uid is on disk once this returns. */
  async raise(uid: number): Promise<void> {
    if (uid <= this.#highestUid) return;
    await this.#queue(async () => {
      if (uid <= this.#highestUid) return;
      await writeFileAtomic(this.#path, `${JSON.stringify({ uid })}\n`);
      this.#highestUid = uid;
    });
  }
}

function parseHighest(path: string, text: string): number {
  const { uid, counter = 0 } = parseKept(path, text);
  if (counter === 0) return uid;
  throw new Error(earlierFormat(`${path} belongs to a node`, "start with another --data folder"));
}

function parseKept(path: string, text: string): Static<typeof Kept> {
  try {
    return Value.Parse(Kept, JSON.parse(text));
  } catch (error) {
    const advice = "restore it from a backup, or remove it to continue without its content";
    throw new Error(`${path} cannot be read: ${advice}`, { cause: error });
  }
}
