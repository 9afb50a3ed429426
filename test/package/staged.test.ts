import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { glob, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { readJson, repository, stage } from "../../tools/package/stage.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "deedhouse-staged-"));
  await stage(folder, true);
});
after(() => rm(folder, { recursive: true }));

const isBuilt = (path: string) => path.startsWith(join(folder, "site/"));

async function stagedFiles(ending: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const path of glob(`**/*${ending}`, { cwd: folder })) paths.push(join(folder, path));
  return paths;
}

const specifiers = /^(?:import|export)(?:[^;"]*?\bfrom)? "([^"]+)"|\bimport\("([^"]+)"\)/gm;
const urls = /\bnew URL\("([^"]+)", import\.meta\.url\)/g;

/** What an operator adds; without it, `check-config` says so (src/lib/measure/send-spans.ts). */
const added = "@opentelemetry/sdk-node";

/** @returns what it lacks, or nothing */
async function lackOf(path: string, specifier: string): Promise<string | undefined> {
  if (isBuiltin(specifier)) return undefined;
  if (specifier.startsWith(".")) {
    return existsSync(new URL(specifier, pathToFileURL(path))) ? undefined : `${path} imports ${specifier}`;
  }
  if (specifier.startsWith("#")) {
    const target = join(folder, "src", specifier.slice(1).replace(/\.ts$/, ".js"));
    return existsSync(target) ? undefined : `${path} imports ${specifier}`;
  }
  const own = path.startsWith(join(folder, "mcp/")) ? "mcp/package.json" : "package.json";
  const { dependencies } = await readJson<{ dependencies: Record<string, string> }>(join(folder, own));
  const name = /^(@[^/]+\/)?[^/]+/.exec(specifier)![0];
  return name in dependencies || name === added ? undefined : `${path} imports ${specifier}, which is not in ${own}`;
}

test("every import of a package leads to a file in it or to a package that it depends on", async () => {
  const lacks: (string | undefined)[] = [];
  let count = 0;
  for (const path of await stagedFiles(".js")) {
    if (isBuilt(path)) continue;
    const code = await readFile(path, "utf8");
    for (const [, named, late] of code.matchAll(specifiers)) {
      count += 1;
      lacks.push(await lackOf(path, (named ?? late)!));
    }
    for (const [, target] of code.matchAll(urls)) {
      if (!existsSync(new URL(target!, pathToFileURL(path)))) lacks.push(`${path} reads ${target}`);
    }
  }
  assert.ok(count > 1_000, `${count} imports`);
  assert.deepEqual(
    lacks.filter((lack) => lack !== undefined),
    [],
  );
});

test("a package has no types, no tests and nothing of development", async () => {
  assert.deepEqual(await stagedFiles(".ts"), []);
  const tests = (await stagedFiles(".js")).filter((path) => /\.test\.js$|\/test-|\/test(ing)?\//.test(path));
  assert.deepEqual(
    tests.filter((path) => !isBuilt(path)),
    [],
  );
  const { packages } = await readJson<{ packages: Record<string, unknown> }>(join(folder, "npm-shrinkwrap.json"));
  const developers = Object.keys(manifest.devDependencies).filter((name) => `node_modules/${name}` in packages);
  assert.deepEqual(developers, []);
  for (const name of Object.keys(manifest.dependencies)) assert.ok(`node_modules/${name}` in packages, name);
  const text = await readFile(join(folder, "package.json"), "utf8");
  assert.doesNotMatch(text, /devDependencies|scripts/, "npm would run them at the operator's");
});

test("lines and columns of a package are those of the source", async () => {
  const lines = async (path: string) => (await readFile(path, "utf8")).split("\n").map((line) => line.length);
  const widths = await lines(join(folder, "src/api/edge.js"));
  assert.deepEqual(widths, await lines(join(repository, "src/api/edge.ts")));
});

test("all roles of a package load, and its command runs", async () => {
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  const entry = join(folder, "bin/deedhouse.js");
  await promisify(execFile)(process.execPath, [entry, "compile"]);
  const { stdout } = await promisify(execFile)(join(folder, "bin/deedhouse"), ["--version"]);
  assert.equal(stdout, `${manifest.version}\n`);
  const { stdout: help } = await promisify(execFile)(process.execPath, [entry, "--help"]);
  assert.match(help, /^Usage: deedhouse /);
});
