/** Copies files from one node to another over pairs of FTP sessions. */
import { createHash } from "node:crypto";
import { Transform, Writable } from "node:stream";
import { Client, FTPError } from "basic-ftp";
import type { OneTimeLogin } from "#nodes/driver.ts";

/** Files that are copied at the same time, each over a session at both nodes. */
const copiersMax = 3;
const attemptsMax = 3;
/** A connection on which nothing moves for so long is given up. */
const stalledMs = 30_000;
/** Of one folder. 200,000 names of 250 characters. */
const listingBytesMax = 64 * 1024 * 1024;
/** Where an account's files are in its home; the node's own things are beside it. */
export const root = "/www";

/** The copies differ, or could not be made: what the operator is told. */
export class CopyFailed extends Error {
  override readonly name: string = "CopyFailed";
}

/** A server's word for a file that is not there, or cannot be used (RFC 959 §4.2). */
export const notAvailableCode = 550;

export class FileNotAvailable extends CopyFailed {
  override readonly name = "FileNotAvailable";
}

/** Opens a new one-time login at either node. */
export interface CopierOptions {
  openSource(): Promise<OneTimeLogin>;
  openTarget(): Promise<OneTimeLogin>;
}

interface Pair {
  from: Client;
  to: Client;
}

/** Copies one file at a time, over a session at each node. */
export class Copier {
  readonly #options: CopierOptions;
  #pair: Pair | undefined;

  constructor(options: CopierOptions) {
    this.#options = options;
  }

  /**
   * Does it, in new sessions once more when the ones at hand fail.
   * @param isDone whether a refusal means that it is done already
   */
  async run<Result>(
    work: (pair: Pair) => Promise<Result>,
    isDone: (error: FTPError) => boolean = () => false,
  ): Promise<Result | undefined> {
    for (let attempt = 1; ; attempt++) {
      const pair = await this.#open();
      try {
        return await work(pair);
      } catch (error) {
        if (error instanceof FTPError && isDone(error)) return undefined;
        this.close();
        const { message } = error as Error;
        if (error instanceof FTPError && error.code === notAvailableCode) throw new FileNotAvailable(message);
        if (attempt === attemptsMax) throw new CopyFailed(message, { cause: error });
      }
    }
  }

  async list(side: "source" | "target", folder: string) {
    return (await this.run((pair) => clientOf(pair, side).list(`${root}${folder}/`))) ?? [];
  }

  /** Whether both sides hold the same bytes. */
  async isSame(path: string): Promise<boolean> {
    const digests = await this.run(({ from, to }) => Promise.all([digestAt(from, path), digestAt(to, path)]));
    return digests !== undefined && digests[0] === digests[1];
  }

  async digestOfCopy(path: string): Promise<string | undefined> {
    return this.run(({ to }) => digestAt(to, path));
  }

  async copy(path: string): Promise<{ digest: string; bytes: number }> {
    const copied = await this.run(async ({ from, to }) => {
      const hash = createHash("sha256");
      let bytes = 0;
      const through = new Transform({
        transform(chunk: Buffer, _encoding, done) {
          hash.update(chunk);
          bytes += chunk.length;
          done(null, chunk);
        },
      });
      // Either side may fail first; the other must not wait for it.
      const failed = (error: Error) => {
        through.destroy(error);
        throw error;
      };
      through.on("error", () => {});
      await Promise.all([
        from.downloadTo(through, root + path).catch(failed),
        to.uploadFrom(through, root + path).catch(failed),
      ]);
      return { digest: hash.digest("hex"), bytes };
    });
    return copied ?? { digest: "", bytes: 0 };
  }

  close(): void {
    this.#pair?.from.close();
    this.#pair?.to.close();
    this.#pair = undefined;
  }

  async #open(): Promise<Pair> {
    if (this.#pair && !this.#pair.from.closed && !this.#pair.to.closed) return this.#pair;
    this.close();
    const { openSource, openTarget } = this.#options;
    const logins = await Promise.all([openSource(), openTarget()]);
    const [from, to] = logins.map(() => new Client(stalledMs, { maxListingBytes: listingBytesMax })) as [
      Client,
      Client,
    ];
    this.#pair = { from, to };
    const [source, target] = logins;
    try {
      await Promise.all([logIn(from, source), logIn(to, target)]);
    } catch (error) {
      this.close();
      throw new CopyFailed(`a node's FTP server does not let us in: ${(error as Error).message}`, { cause: error });
    }
    return this.#pair;
  }
}

async function digestAt(client: Client, path: string): Promise<string> {
  const hash = createHash("sha256");
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done();
    },
  });
  await client.downloadTo(sink, root + path);
  return hash.digest("hex");
}

const clientOf = ({ from, to }: Pair, side: "source" | "target") => (side === "source" ? from : to);

async function logIn(client: Client, { certificate, password, ...login }: OneTimeLogin): Promise<void> {
  // The certificate is pinned, so it does not matter what name is in it or who has signed it.
  const secureOptions = { ca: certificate, checkServerIdentity: () => undefined, allowPartialTrustChain: true };
  await client.access({ ...login, password: password.reveal(), secure: true, secureOptions });
}

export interface Copiers {
  /** Runs `work` for every item, several at a time; the first failure ends it. */
  each<Item>(items: readonly Item[], work: (copier: Copier, item: Item) => Promise<unknown>): Promise<void>;
  /** Runs `work` with one copier. */
  one(work: (copier: Copier) => Promise<void>, side?: "source" | "target"): Promise<void>;
}

/** Runs `work` with some copiers, and closes them afterwards. */
export async function withCopiers<Result>(
  options: CopierOptions,
  work: (copiers: Copiers) => Promise<Result>,
): Promise<Result> {
  const all = Array.from({ length: copiersMax }, () => new Copier(options));
  const copiers: Copiers = {
    async each(items, workOn) {
      let next = 0;
      let hasFailed = false;
      const takeAll = async (copier: Copier) => {
        while (next < items.length && !hasFailed) {
          const item = items[next++];
          await workOn(copier, item as (typeof items)[number]).catch((error: unknown) => {
            hasFailed = true;
            throw error;
          });
        }
      };
      const outcomes = await Promise.allSettled(all.slice(0, items.length).map(takeAll));
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    },
    one: (workIn, side = "source") => workIn(all[side === "source" ? 0 : 1] as Copier),
  };
  try {
    return await work(copiers);
  } finally {
    for (const copier of all) copier.close();
  }
}
