/**
 * Copies the files of an account from its node to another, over FTP with TLS, as our one-time logins open both homes.
 * Nothing is remembered between two runs: each lists both sides and does what is missing, so it may be killed anywhere.
 * What goes from one side to the other is never held whole; only names and sizes are.
 */
import { createHash } from "node:crypto";
import { Transform, Writable } from "node:stream";
import { Client, FTPError } from "basic-ftp";
import type { OneTimeLogin } from "#nodes/driver.ts";

/** Files that are copied at the same time, each over a session at both nodes. */
const lanesMax = 3;
const triesMax = 3;
/** A connection on which nothing moves for so long is given up. */
const stalledMs = 30_000;
/** Of one folder. 200,000 names of 250 characters. */
const listingBytesMax = 64 * 1024 * 1024;
const root = "/www";

/** The copies differ, or could not be made: what the operator is told. */
export class CopyFailed extends Error {
  override readonly name = "CopyFailed";
}

export interface CopyOptions {
  /** A new one-time login at either node. */
  openSource(): Promise<OneTimeLogin>;
  openTarget(): Promise<OneTimeLogin>;
  /** Asked again and again; what it throws ends the copying. */
  report(progress: CopyProgress): Promise<void>;
}

export interface CopyProgress {
  filesTotal: number;
  filesDone: number;
  bytesDone: number;
}

interface Tree {
  /** Paths below `www`, each after the folder that it is in. */
  folders: Set<string>;
  /** Their sizes in bytes. */
  files: Map<string, number>;
}

/**
 * The first copy, while the account is in use: brings over what the target has not, by name and size. What changes or goes
 * away meanwhile is for `finishCopy`.
 * @throws CopyFailed, the errors of the drivers, and what `report` throws
 */
export async function copyFiles(options: CopyOptions): Promise<void> {
  await withLanes(options, async (lanes) => {
    const [source, target] = await Promise.all([listTree(lanes, "source"), listTree(lanes, "target")]);
    await alignFolders(lanes, source, target);
    const missing = [...source.files].filter(([path, bytes]) => target.files.get(path) !== bytes);
    const progress = startProgress(options, source, missing.length);
    await lanes.each(missing, async (lane, [path]) => {
      const bytes = await lane.copy(path).catch(ignoreGone);
      await progress(bytes?.bytes ?? 0);
    });
  });
}

/**
 * The second copy, while nobody changes the files: makes the target the same, name by name and byte by byte, and reads both
 * sides back to prove it.
 * @returns what the account holds
 * @throws as `copyFiles`
 */
export async function finishCopy(options: CopyOptions): Promise<{ files: number; bytes: number }> {
  return withLanes(options, async (lanes) => {
    const [source, target] = await Promise.all([listTree(lanes, "source"), listTree(lanes, "target")]);
    await alignFolders(lanes, source, target);
    const progress = startProgress(options, source, source.files.size);
    await lanes.each([...source.files], async (lane, [path, bytes]) => {
      if (target.files.get(path) !== bytes || !(await lane.isSame(path))) {
        const { digest } = await lane.copy(path);
        if (digest !== (await lane.digestOfCopy(path))) {
          throw new CopyFailed(`${path} reads back as something else than was sent`);
        }
      }
      await progress(bytes);
    });
    const copy = await listTree(lanes, "target");
    const difference = differenceOf(source, copy);
    if (difference !== undefined) throw new CopyFailed(`the copies differ in ${difference}`);
    const bytes = [...source.files.values()].reduce((sum, size) => sum + size, 0);
    return { files: source.files.size + source.folders.size, bytes };
  });
}

function startProgress({ report }: CopyOptions, source: Tree, filesToDo: number) {
  const filesTotal = source.files.size;
  let filesDone = filesTotal - filesToDo;
  let bytesDone = 0;
  return async (bytes: number) => {
    filesDone += 1;
    bytesDone += bytes;
    await report({ filesTotal, filesDone, bytesDone });
  };
}

/** A server's word for a file that is not there, or cannot be used (RFC 959 §4.2). */
const notAvailableCode = 550;

class FileNotAvailable extends CopyFailed {}

/** Files come and go while an account is in use. */
function ignoreGone(error: unknown): undefined {
  if (!(error instanceof FileNotAvailable)) throw error;
}

function differenceOf(source: Tree, target: Tree): string | undefined {
  for (const folder of [...source.folders, ...target.folders]) {
    if (!source.folders.has(folder) || !target.folders.has(folder)) return folder;
  }
  for (const path of new Set([...source.files.keys(), ...target.files.keys()])) {
    if (source.files.get(path) !== target.files.get(path)) return path;
  }
}

/** Takes away from the target what the source has not, and makes its folders. */
async function alignFolders(lanes: Lanes, source: Tree, target: Tree): Promise<void> {
  const extraFiles = [...target.files.keys()].filter((path) => !source.files.has(path));
  await lanes.each(extraFiles, (lane, path) => lane.run(({ to }) => to.remove(root + path)));
  const extraFolders = [...target.folders].filter((path) => !source.folders.has(path)).reverse();
  const newFolders = [...source.folders].filter((path) => !target.folders.has(path));
  // In their order: a folder goes after, and comes before, what is in it.
  await lanes.one(async (lane) => {
    for (const path of extraFolders) await lane.run(({ to }) => to.removeEmptyDir(root + path));
    for (const path of newFolders) {
      // Sent before, and its answer lost: then it is there.
      await lane.run(
        ({ to }) => to.send(`MKD ${root}${path}`),
        (error) => error.code === notAvailableCode || error.code === 521,
      );
    }
  });
}

async function listTree(lanes: Lanes, side: "source" | "target"): Promise<Tree> {
  const tree: Tree = { folders: new Set(), files: new Map() };
  // It grows while it is walked: a folder's own follow it.
  const queue = [""];
  await lanes.one(async (lane) => {
    for (const folder of queue) {
      for (const entry of await lane.list(side, folder)) {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory) {
          tree.folders.add(path);
          queue.push(path);
        } else if (entry.isFile) tree.files.set(path, entry.size);
      }
    }
  }, side);
  return tree;
}

interface Pair {
  from: Client;
  to: Client;
}

/** A session at both nodes, for one file at a time. */
class Lane {
  readonly #options: CopyOptions;
  #pair: Pair | undefined;

  constructor(options: CopyOptions) {
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
    for (let tries = 1; ; tries++) {
      const pair = await this.#open();
      try {
        return await work(pair);
      } catch (error) {
        if (error instanceof FTPError && isDone(error)) return undefined;
        this.close();
        const { message } = error as Error;
        if (error instanceof FTPError && error.code === notAvailableCode) throw new FileNotAvailable(message);
        if (tries === triesMax) throw new CopyFailed(message, { cause: error });
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
  // The certificate is pinned, so what name is in it does not matter.
  const secureOptions = { ca: certificate, checkServerIdentity: () => undefined };
  await client.access({ ...login, password: password.reveal(), secure: true, secureOptions });
}

interface Lanes {
  /** Does the work for every item, several at a time; the first failure ends it. */
  each<Item>(items: readonly Item[], work: (lane: Lane, item: Item) => Promise<unknown>): Promise<void>;
  /** Does the work in one lane. */
  one(work: (lane: Lane) => Promise<void>, side?: "source" | "target"): Promise<void>;
}

async function withLanes<Result>(options: CopyOptions, work: (lanes: Lanes) => Promise<Result>): Promise<Result> {
  const all = Array.from({ length: lanesMax }, () => new Lane(options));
  const lanes: Lanes = {
    async each(items, workOn) {
      let next = 0;
      let hasFailed = false;
      const takeAll = async (lane: Lane) => {
        while (next < items.length && !hasFailed) {
          const item = items[next++];
          await workOn(lane, item as (typeof items)[number]).catch((error: unknown) => {
            hasFailed = true;
            throw error;
          });
        }
      };
      const outcomes = await Promise.allSettled(all.slice(0, items.length).map(takeAll));
      for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    },
    one: (workIn, side = "source") => workIn(all[side === "source" ? 0 : 1] as Lane),
  };
  try {
    return await work(lanes);
  } finally {
    for (const lane of all) lane.close();
  }
}
