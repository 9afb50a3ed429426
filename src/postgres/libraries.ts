/**
 * The names by which PostgreSQL's libraries load each other. npm packages hold no links, so a script of the package makes them after
 * it is installed; npm runs no such script for a global package's dependencies, or with --ignore-scripts.
 */
import { access, mkdir, readFile, readlink, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

interface Link {
  name: string;
  /** The name of the library's file, next to it. */
  file: string;
}

/** Names without a path of the links that the package lacks. */
async function missingLinks(native: string): Promise<Link[]> {
  const listed = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links = (JSON.parse(listed) as { source: string; target: string }[])
    .filter(({ target }) => dirname(target) === "native/lib")
    .map(({ source, target }) => ({ name: basename(target), file: basename(source) }));
  const there = await Promise.all(links.map(({ name }) => isThere(join(native, "lib", name))));
  return links.filter((_, index) => !there[index]);
}

/**
 * Makes the links that the package lacks, in a folder of the data: who runs the program may own neither the package nor its folder.
 * @param native the package's folder
 * @returns the words before a program that let it find its libraries; none if nothing is missing
 */
export async function libraryPrefix(native: string, dataDir: string): Promise<string[]> {
  const missing = await missingLinks(native);
  if (missing.length === 0) return [];
  const folder = join(dataDir, "libraries");
  await mkdir(folder, { recursive: true, mode: 0o755 });
  for (const { name, file } of missing) await makeLink(join(folder, name), join(native, "lib", file));
  // A library that is found by a link looks for others next to the link.
  return ["env", `LD_LIBRARY_PATH=${folder}:${join(native, "lib")}`];
}

/** Makes them where they belong, in a copy of the package that is ours. */
export async function completeLibraries(native: string): Promise<void> {
  for (const { name, file } of await missingLinks(native)) await makeLink(join(native, "lib", name), file);
}

/** Another start on the same folder may make the same link; one of another version is replaced. */
async function makeLink(path: string, target: string): Promise<void> {
  if ((await readlink(path).catch(() => undefined)) === target) return;
  await rm(path, { force: true });
  await symlink(target, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
