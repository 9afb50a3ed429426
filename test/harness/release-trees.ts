/** Other releases, as folders from which tests run real processes. */
import { execFile, spawnSync } from "node:child_process";
import { appendFile, cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Scope } from "./database.ts";
import { repository } from "./running-system.ts";

const run = promisify(execFile);
const archiveBytesMax = 1024 ** 3;
/** What a process reads. */
const parts = ["bin", "client", "db", "sandbox", "schemas", "src", "package.json"];
const versionBefore = "0.0.9";
const versionNext = "999.0.0";

export interface ReleaseTree {
  version: string;
  /** Its program. */
  entry: string;
  /** Its migrations and functions. */
  schema: string;
  /** Runs a command of an operator to its end. @returns its output @throws Error with what it printed */
  operate(env: NodeJS.ProcessEnv, ...args: string[]): Promise<string>;
}

/** The last tag of a release before this commit; undefined if history has none. */
export function tagBefore(): string | undefined {
  const words = ["-C", repository, "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"];
  const { status, stdout } = spawnSync("git", words, { encoding: "utf8" });
  return status === 0 ? stdout.trim() : undefined;
}

/** The release before; until there is one, this one under another version. */
export async function releaseBefore(scope: Scope): Promise<ReleaseTree> {
  const tag = tagBefore();
  if (tag !== undefined) return releaseAt(scope, tag);
  const folder = await newFolder(scope);
  await copyThis(folder);
  return asRelease(folder, versionBefore);
}

/** The code of a commit. */
export async function releaseAt(scope: Scope, commit: string): Promise<ReleaseTree> {
  const folder = await newFolder(scope);
  const tar = join(folder, "release.tar");
  await run("git", ["-C", repository, "archive", `--output=${tar}`, commit], { maxBuffer: archiveBytesMax });
  await run("tar", ["-x", "-f", tar, "-C", folder]);
  await rm(tar);
  return asRelease(folder);
}

/** This release with more migrations, and with functions that have changed. */
export async function nextRelease(
  scope: Scope,
  migrations: Readonly<Record<string, string>>,
  changedFunctions: readonly string[],
): Promise<ReleaseTree> {
  const folder = await newFolder(scope);
  await copyThis(folder);
  for (const [name, sql] of Object.entries(migrations)) await writeFile(join(folder, "db/migrations", name), sql);
  for (const name of changedFunctions) await appendFile(join(folder, "db/functions", name), "\n-- It has changed.\n");
  return asRelease(folder, versionNext);
}

async function newFolder(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-release-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function copyThis(folder: string): Promise<void> {
  const filter = (path: string) => !path.includes("node_modules");
  for (const part of parts) await cp(join(repository, part), join(folder, part), { recursive: true, filter });
}

/** @param given its version, if it is not the one in its files */
async function asRelease(folder: string, given?: string): Promise<ReleaseTree> {
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const path = join(folder, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as { version: string };
  const version = given ?? manifest.version;
  await writeFile(path, JSON.stringify({ ...manifest, version }));
  const entry = join(folder, "bin/deedhouse.ts");
  const operate = async (env: NodeJS.ProcessEnv, ...args: string[]) =>
    (await run(process.execPath, [entry, ...args], { env: { ...process.env, ...env } })).stdout;
  return { version, entry, schema: join(folder, "db"), operate };
}
