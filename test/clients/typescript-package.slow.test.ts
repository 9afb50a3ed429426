/** The package of the library for TypeScript, as its page says: made, installed into an empty folder, and used there. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import manifest from "../../client/package.json" with { type: "json" };
import { createClient } from "../../client/sdk/client.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { repository } from "../harness/running-system.ts";

const source = join(repository, "client");
/** They come with npm ci --prefix client. */
const skip = !existsSync(join(source, "node_modules/typescript")) && "client is not installed";

const page = readFileSync(join(repository, "docs/clients-typescript.md"), "utf8");
const blocks = [...page.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language = "", code = ""]) => ({ language, code }));
const [makeIt = "", installIt = "", ...moreCommands] = blocks
  .filter(({ language }) => language === "sh")
  .map(({ code }) => code);
const programs = new Map(
  blocks
    .filter(({ language }) => language !== "sh")
    .map(({ code }) => [
      /^\/\/ (\S+)\n/.exec(code)?.[1] ?? assert.fail(`a program without a file's name: ${code}`),
      code,
    ]),
);

const folder = await mkdtemp(join(tmpdir(), "deedhouse-package-"));
after(() => rm(folder, { recursive: true, force: true }));
const clone = join(folder, "clone");
const shop = join(folder, "shop");
const tarball = `deedhouse-client-${manifest.version}.tgz`;

interface Ran {
  stdout: string;
  stderr: string;
}
/** Runs a program in a folder. @throws with its output */
async function run(cwd: string, file: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const { PATH } = process.env;
  const options = { cwd, env: { PATH, HOME: folder, npm_config_cache: join(folder, "cache"), ...env } };
  try {
    return await promisify(execFile)(file, args, options);
  } catch (error) {
    const { stdout, stderr } = error as Ran;
    throw new Error(`${file} ${args.join(" ")} failed:\n${stdout}${stderr}`);
  }
}
/** The commands of a block. */
const linesOf = (block: string) =>
  block
    .trim()
    .split("\n")
    .map((line) => line.split(" "));

const gateway = await startTestGateway({ after }, { node: true });
const { key, id } = await gateway.addReseller();
await gateway.addPack({ offeredTo: [id] });
const env = { DEEDHOUSE_URL: gateway.url, DEEDHOUSE_API_KEY: key.id, DEEDHOUSE_API_SECRET: key.secret.reveal() };

/** What each program prints. */
const expected: Record<string, { args?: (version: string) => string[]; prints: RegExp }> = {
  "packs.mjs": { prints: /^\[ '\d+ .+' \]\nrequest \S+: \d+ left\n$/ },
  "order.mjs": {
    args: (version) => [`node-${version}.example`],
    prints: /^REG-\S+\n(\w+\n)*Finished\nnode-\d+\.example \d{4}-.*Z\n$/,
  },
  "host.mjs": {
    args: (version) => [`site-${version}.example`, "correct-horse-battery"],
    prints: /^Ready site-\d+\.example http:\S+\n$/,
  },
  "suspend.mjs": {
    args: (version) => [`site-${version}.example`, "unpaid"],
    prints: /^Suspended unpaid\nReady\n$/,
  },
  "lists.mjs": { prints: /^(node-\d+\.example \d{4}-.*Z\n)+\d+ of \d+\n$/ },
  "events.mjs": {
    prints:
      /^(domain\.\w+ \S+\n)*domain\.registered node-\d+\.example\n(domain.*\n)*the next time: node events\.mjs \S+\n$/,
  },
  "errors.mjs": {
    args: (version) =>
      ["bad_name", `taken-${version}`, `race-${version}`, `pending-never-${version}`].map(
        (label) => `${label}.example`,
      ),
    prints: new RegExp(
      [
        /^.+ \(bad_request, HTTP 400\)\n {2}domain_name: .+/,
        /taken-\d+\.example is taken/,
        /the order REG-\S+ ended as Errors: .+/,
        /pending-never-\d+\.example is Pending: nothing is lost, look again later\n$/,
      ]
        .map((line) => line.source)
        .join("\n"),
    ),
  },
  "abort.mjs": { prints: /^stopped waiting for REG-\S+\n$/ },
  "retries.mjs": { prints: /domain_name: 'hello\.example',\s+availability: 'available'/ },
};

/** The newest Node of each release line on the PATH: the project's own comes first, so a machine's is behind it. */
function findNode(major: number): string | undefined {
  const candidates = (process.env.PATH ?? "").split(delimiter).map((place) => join(place, "node"));
  const versionOf = (node: string) => spawnSync(node, ["--version"], { encoding: "utf8" }).stdout ?? "";
  return candidates.find((node) => existsSync(node) && versionOf(node).startsWith(`v${major}.`));
}

before(async () => {
  if (skip) return;
  await mkdir(shop);
  const withoutBuilt = (path: string) => !/\/(node_modules|dist|cli|testing)$/.test(path);
  await cp(source, join(clone, "client"), { recursive: true, filter: withoutBuilt });
  const [install = [], pack = []] = linesOf(makeIt);
  assert.deepEqual(
    [install.slice(0, 2), pack.slice(0, 2)],
    [
      ["npm", "ci"],
      ["npm", "pack"],
    ],
  );
  // What it would install is there already.
  await run(clone, "npm", [...install.slice(1), "--dry-run", "--offline"]);
  await symlink(join(source, "node_modules"), join(clone, "client/node_modules"));
  const { stdout } = await run(clone, "npm", pack.slice(1));
  assert.equal(stdout.trim().split("\n").at(-1), tarball);
  await cp(join(clone, tarball), join(shop, tarball));
  for (const [npm = "", ...args] of linesOf(installIt))
    await run(shop, npm, [...args, ...(args[0] === "install" ? ["--offline"] : [])]);
  for (const [file, code] of programs) await writeFile(join(shop, file), code);
});

test("the page has no program or command that nothing runs", () => {
  const compiledOnly = ["client.mjs", "types.mts"];
  assert.deepEqual([...programs.keys()].sort(), [...Object.keys(expected), ...compiledOnly].sort());
  assert.deepEqual(moreCommands, []);
});

test("the page's table has every method", () => {
  const url = "http://127.0.0.1";
  const methods = Object.keys(createClient({ url, apiKey: key.id, apiSecret: "secret" }));
  const [, table = ""] = page.split("## All methods");
  const listed = [...table.matchAll(/^\|.*$/gm)].flatMap(([row]) =>
    [...row.matchAll(/`(\w+)`/g)].map(([, name]) => name),
  );
  assert.deepEqual(listed.sort(), methods.sort());
});

test("the package holds what is built, README and LICENSE, and nothing else", { skip }, async () => {
  const { stdout } = await run(shop, "tar", ["-tf", tarball]);
  const files = stdout
    .trim()
    .split("\n")
    .map((path) => path.replace("package/", ""));
  const others = files.filter((path) => !path.startsWith("dist/"));
  assert.deepEqual(others.sort(), ["LICENSE", "README.md", "package.json"]);
  const built = files.filter((path) => path.startsWith("dist/"));
  assert.deepEqual(
    built.filter((path) => !/^dist\/[\w-]+(\.js|\.d\.ts)$/.test(path) || /\.test\./.test(path)),
    [],
  );
  for (const paths of Object.values(manifest.exports))
    for (const path of Object.values(paths)) assert.ok(built.includes(path.replace("./", "")), path);
  const text = (path: string) => readFile(join(shop, "node_modules/@deedhouse/client", path), "utf8");
  assert.equal(await text("LICENSE"), await readFile(join(repository, "LICENSE"), "utf8"));
  const installed: { dependencies?: object } = JSON.parse(await text("package.json"));
  assert.equal(installed.dependencies, undefined);
});

const ownMajor = Number(process.versions.node.split(".")[0]);
for (const major of [20, ownMajor]) {
  const node = findNode(major);
  const why = skip || (!node && `Node ${major} is not installed`);
  test(`the page's programs run with Node ${major}`, { skip: why }, async (t) => {
    for (const [file, { args, prints }] of Object.entries(expected)) {
      await t.test(file, async () => {
        const { stdout, stderr } = await run(shop, node!, [file, ...(args?.(String(major)) ?? [])], env);
        assert.match(stdout, prints);
        assert.equal(stderr, "", "warnings");
      });
    }
    const csv = await readFile(join(shop, "domains.csv"), "utf8");
    assert.match(csv, new RegExp(`^domain_name,.*\r\n(.*\r\n)*node-${major}\\.example,`));
  });
}

/** Type-checks the page's programs as strict TypeScript, with one program more. */
async function typeCheck(compiler: string, more: string): Promise<Ran> {
  const place = await mkdtemp(join(folder, "types-"));
  await symlink(join(shop, "node_modules"), join(place, "node_modules"));
  for (const [file, code] of [...programs, ["more.mts", more] as const]) {
    await writeFile(join(place, file.replace(".mjs", ".mts")), code);
  }
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: "es2022",
    lib: ["es2023"],
    module: "nodenext",
    moduleResolution: "nodenext",
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    types: ["node"],
    typeRoots: [join(source, "node_modules/@types")],
  };
  await writeFile(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  return run(place, process.execPath, [join(compiler, "node_modules/typescript/bin/tsc"), "--project", place]);
}

for (const [compiler, of] of [
  [source, "the release that builds the package"],
  [repository, "a later release"],
] as const) {
  test(`the page's programs are strict TypeScript for ${of}, and a mistake is not`, { skip }, async () => {
    await typeCheck(compiler, "");
    const misspelt = `
      import { ApiError } from "@deedhouse/client/errors";
      export const isGone = (error: unknown) => error instanceof ApiError && error.errorCode === "domain_not_fuond";`;
    await assert.rejects(typeCheck(compiler, misspelt), /more\.mts\(3,\d+\): error TS2367/);
    const unknownField = `
      import type { Domain } from "@deedhouse/client/types";
      export const nameOf = (domain: Domain) => domain.domainName;`;
    await assert.rejects(typeCheck(compiler, unknownField), /error TS2551.*Did you mean 'domain_name'/);
  });
}
