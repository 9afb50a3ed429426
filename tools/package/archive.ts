/** Archives whose bytes depend on the files alone: two builds of one commit are equal. */
import { execFile } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { repository } from "./stage.ts";

const run = promisify(execFile);

/** Of every file in a package, in seconds: SOURCE_DATE_EPOCH (reproducible-builds.org), or the time of the commit. */
export async function sourceTime(): Promise<string> {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) return given;
  const { stdout } = await run("git", ["log", "-1", "--format=%ct"], { cwd: repository }).catch((cause) => {
    throw new Error("this is no clone of the repository: set SOURCE_DATE_EPOCH to the time of the files, in seconds", {
      cause,
    });
  });
  return stdout.trim();
}

/** Writes a folder as a gzipped tar archive, below a folder of another name in it. */
export async function writeTarball(folder: string, nameInside: string, target: string): Promise<void> {
  const owner = ["--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go+r,go-w"];
  const same = ["--sort=name", "--format=ustar", `--mtime=@${await sourceTime()}`, ...owner];
  const names = `--transform=s,^\\.,${nameInside},`;
  const compress = "--use-compress-program=gzip --no-name --best";
  await run("tar", ["--create", "--file", target, ...same, names, compress, "--directory", folder, "."]);
}

/** Everything below a folder, sorted, with paths from there. */
export async function pathsBelow(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

/** What compilers, debuggers, editors and linters read. */
const onlyForDevelopers = /\.(d\.[cm]?ts|[cm]?[jt]s\.map|tsbuildinfo)$|(^|\/)\.[^/]*$/;

/** Installs the packages of a folder's lock file as they are, without their scripts and without what only developers read. */
export async function installPackages(folder: string): Promise<void> {
  const quiet = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["ci", ...quiet], { cwd: folder });
  const packages = join(folder, "node_modules");
  for (const path of await pathsBelow(packages)) {
    if (onlyForDevelopers.test(path)) await rm(join(packages, path), { recursive: true, force: true });
  }
}
