import { execFile } from "node:child_process";
import { chmod, lchown, link, mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Log } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import type { Programs } from "#postgres/binaries.ts";
import { EmbeddedPostgresError } from "#postgres/error.ts";

/** The major version of the binaries in package.json. Another version cannot read the files. */
const majorVersion = "18";

export const superuser = "deedhouse";

const passwordBytes = 24;

/** Everything that the embedded server keeps, below one folder. */
export interface ClusterPaths {
  dataDir: string;
  /** PostgreSQL's own folder (PGDATA). */
  cluster: string;
  /** The superuser's password, readable only by its owner. */
  password: string;
  /** PostgreSQL's standard error. A file, not a pipe, because the server outlives us. */
  log: string;
  /** The process that supervises the server. */
  supervisor: string;
}

/**
 * Creates the data folder.
 * @throws EmbeddedPostgresError when that is not permitted
 */
export async function openDataDir(dataDir: string): Promise<ClusterPaths> {
  try {
    await mkdir(dataDir, { recursive: true });
    // Others may pass through but not list it, because the server may run as another user; everything below is 0600 or
    // 0700.
    await chmod(dataDir, 0o711);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The database folder ${dataDir} cannot be used (${(error as Error).message}): let the user who starts Deedhouse own it, or choose another with --data DIR.`,
      { cause: error },
    );
  }
  return pathsIn(await realpath(dataDir));
}

/** @param folder the data folder, which need not be there */
export function pathsIn(folder: string): ClusterPaths {
  const below = (name: string) => join(folder, name);
  return {
    dataDir: folder,
    cluster: below("cluster"),
    password: below("password"),
    log: below("postgres.log"),
    supervisor: below("supervisor"),
  };
}

/**
 * Runs initdb on a new folder, and checks an existing one. An interrupted first start leaves nothing that the next
 * start could mistake for a database.
 * @returns the superuser's password
 * @throws EmbeddedPostgresError
 */
export async function ensureCluster(paths: ClusterPaths, programs: Programs, log: Log): Promise<string> {
  if (await exists(paths.cluster)) {
    await checkVersion(paths);
    await handOver(paths.cluster, programs.filesOwner);
    return readPassword(paths);
  }
  log.info({ dataDir: paths.dataDir }, "creating a new database folder");
  const password = await newPassword(paths);
  await initialize(paths, programs, password);
  return password;
}

async function checkVersion(paths: ClusterPaths): Promise<void> {
  const text = await readFile(join(paths.cluster, "PG_VERSION"), "utf8").catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "its file PG_VERSION is missing" : error.message;
    throw new EmbeddedPostgresError(
      `The database folder ${paths.cluster} cannot be read (${reason}): give it back to the user who starts Deedhouse, restore it from a backup, or move it away to begin with an empty database.`,
      { cause: error },
    );
  });
  if (text.trim() !== majorVersion) {
    throw new EmbeddedPostgresError(
      `The database folder ${paths.cluster} belongs to PostgreSQL ${text.trim()}, and this is ${majorVersion}: start the version of Deedhouse that created it, dump the database and load it into a new folder.`,
    );
  }
}

async function readPassword(paths: ClusterPaths): Promise<string> {
  try {
    return (await readFile(paths.password, "utf8")).trim();
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The password of the embedded database cannot be read (${(error as Error).message}): restore ${paths.password} from a backup, or let the user who starts Deedhouse own it.`,
      { cause: error },
    );
  }
}

/** Of two concurrent first starts, both get the password of the first one. */
async function newPassword(paths: ClusterPaths): Promise<string> {
  const draft = `${paths.password}.${process.pid}`;
  await writeFile(draft, `${systemRandom.bytes(passwordBytes).toString("hex")}\n`, { mode: 0o600, flush: true });
  await link(draft, paths.password).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await rm(draft);
  return readPassword(paths);
}

async function initialize(paths: ClusterPaths, programs: Programs, password: string): Promise<void> {
  const draft = `${paths.cluster}.${process.pid}`;
  const passwordFile = `${draft}.password`;
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    await handOver(draft, programs.filesOwner);
    await handOver(passwordFile, programs.filesOwner);
    const initdb = [join(programs.binDir, "initdb"), "--pgdata", draft, "--pwfile", passwordFile, ...initdbOptions];
    const [command, ...args] = [...programs.prefix, ...initdb] as [string, ...string[]];
    await promisify(execFile)(command, args, { ...programs.identity, cwd: "/" });
    await rename(draft, paths.cluster);
  } catch (error) {
    // Another process may have been faster: then the database exists, and this is no error.
    if (await exists(paths.cluster)) return;
    const { stderr, message } = error as { stderr?: string; message: string };
    const reason = /^initdb: (?:error: )?(.*)/m.exec(stderr ?? "")?.[1] ?? message;
    throw new EmbeddedPostgresError(
      `No database could be created in ${paths.dataDir} (${reason}): make sure that the disk has room and the user who starts Deedhouse may write there, or choose another folder with --data DIR.`,
      { cause: error },
    );
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

/** C locale: text compares by bytes, the same on every system and with every library version. */
const initdbOptions = [
  `--username=${superuser}`,
  "--encoding=UTF8",
  "--locale=C",
  "--data-checksums",
  "--auth=scram-sha-256",
  "--no-instructions",
];

/** A folder that was created in one way of running the server may later be used in the other. */
async function handOver(path: string, owner: number): Promise<void> {
  const found = await stat(path);
  if (found.uid === owner) return;
  const entries = found.isDirectory() ? await readdir(path, { recursive: true }) : [];
  for (const entry of ["", ...entries]) await lchown(join(path, entry), owner, owner);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
