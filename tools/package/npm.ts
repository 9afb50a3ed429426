/** `npm run package`: the tarball that `npm i -g` installs. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { installPackages, writeTarball } from "./archive.ts";
import { readJson, repository, stage } from "./stage.ts";

/** @returns the path of the tarball */
export async function buildTarball(folder: string): Promise<string> {
  const staged = join(folder, "npm");
  await stage(staged, true);
  // npm installs the packages of package.json only, so these come along.
  const mcp = join(staged, "mcp");
  await installPackages(mcp);
  await rm(join(mcp, "package-lock.json"));
  const { version } = await readJson<{ version: string }>(join(staged, "package.json"));
  const tarball = join(folder, `deedhouse-${version}.tgz`);
  await writeTarball(staged, "package", tarball);
  await rm(staged, { recursive: true });
  return tarball;
}

if (import.meta.main) process.stdout.write(`${await buildTarball(join(repository, "build"))}\n`);
