/** Copies files from one node to another over pairs of FTP sessions. */
import { createHash } from "node:crypto";
import { Transform, Writable } from "node:stream";
import { Client, FTPError } from "basic-ftp";
import type { OneTimeLogin } from "#nodes/driver.ts";

/** Files that are copied concurrently. */
const copiersMax = 3;
const attemptsMax = 3;
/** A connection that is silent for so long is closed. */
const stalledMs = 30_000;
/** Of one folder: 200,000 names of 250 characters. */
const listingBytesMax = 64 * 1024 * 1024;
/** The folder of an account's files in its home; the node keeps other files next to it. */
export const root = "/www";

/** The copies differ or could not be made. The message is for the operator. */
export class CopyFailed extends Error {
  override readonly name: string = "CopyFailed";
}

/** The reply for a file that does not exist or cannot be used (RFC 959 §4.2). */
export const notAvailableCode = 550;

export class FileNotAvailable extends CopyFailed {
  override readonly name = "FileNotAvailable";
}

/** Issue new one-time logins. */
export interface CopierOptions {
  openSource(): Promise<OneTimeLogin>;
  openTarget(): Promise<OneTimeLogin>;
}

interface Clients {
  from: Client;
  to: Client;
}

/** Copies one file at a time, over a session at each node. */
export class Copier {
  readonly #options: CopierOptions;
  #clients: Clients | undefined;

  constructor(options: CopierOptions) {
    this.#options = options;
  }

  /**
   * Does the work; retries in new sessions when these fail.
   * @param isDone whether a refusal means that the work is done already
   */
  async run<Result>(
    work: (clients: Clients) => Promise<Result>,
    isDone: (error: FTPError) => boolean = () => false,
  ): Promise<Result | undefined> {
    for (let attempt = 1; ; attempt++) {
      const clients = await this.#open();
      try {
        return await work(clients);
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
    return (await this.run(({ from, to }) => (side === "source" ? from : to).list(`${root}${folder}/`))) ?? [];
  }

  /** Whether both nodes have the same bytes. */
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
      // When one side fails, the other must not wait for it.
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
    this.#clients?.from.close();
    this.#clients?.to.close();
    this.#clients = undefined;
  }

  async #open(): Promise<Clients> {
    if (this.#clients && !this.#clients.from.closed && !this.#clients.to.closed) return this.#clients;
    this.close();
    const [source, target] = await Promise.all([this.#options.openSource(), this.#options.openTarget()]);
    const from = new Client(stalledMs, { maxListingBytes: listingBytesMax });
    const to = new Client(stalledMs, { maxListingBytes: listingBytesMax });
    this.#clients = { from, to };
    try {
      await Promise.all([logIn(from, source), logIn(to, target)]);
    } catch (error) {
      this.close();
      throw new CopyFailed(`a node's FTP server refused the login: ${(error as Error).message}`, { cause: error });
    }
    return this.#clients;
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

async function logIn(client: Client, { certificate, password, ...login }: OneTimeLogin): Promise<void> {
  // The certificate is pinned, so its name and its issuer do not matter.
  const secureOptions = { ca: certificate, checkServerIdentity: () => undefined, allowPartialTrustChain: true };
  await client.access({ ...login, password: password.reveal(), secure: true, secureOptions });
}

export interface Copiers {
  /** Does the work for every item, several at a time, until the first failure. */
  each<Item>(items: readonly Item[], work: (copier: Copier, item: Item) => Promise<unknown>): Promise<void>;
  /** Does the work with one copier; listings of both sides can run concurrently. */
  one(work: (copier: Copier) => Promise<void>, side?: "source" | "target"): Promise<void>;
}

/** Runs the work with some copiers, and closes them afterwards. */
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
