/** The machine's own Node may be too old to read TypeScript: Debian 12 has Node 18. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { repository } from "../harness/running-system.ts";
import { pagesWithCommands } from "./shell-blocks.ts";

const folder = mkdtempSync(join(tmpdir(), "deedhouse-old-node-"));
after(() => rmSync(folder, { recursive: true }));

const systemNode = "/usr/bin/node";
/** The first version that reads TypeScript without an option. */
const readsTypes = 22;

function whySkipped(): string | false {
  if (!existsSync(systemNode) || !existsSync("/usr/bin/npx")) return "the machine has no Node of its own";
  const major = Number(execFileSync(systemNode, ["-p", "process.versions.node.split('.')[0]"], { encoding: "utf8" }));
  return major < readsTypes ? false : "the machine's own Node reads TypeScript";
}

const skip = whySkipped();
/** The machine's own programs come first. */
const env = { PATH: "/usr/bin:/bin", HOME: folder };
const run = (program: string, args: string[], options = {}) =>
  promisify(execFile)(program, args, { cwd: repository, env, ...options });

test("no line of the documentation, of a program or of the banner runs TypeScript with whatever Node there is", () => {
  const more = ["client/README.md", "mcp/README.md", "src/start/report.ts", "sandbox/registry/README.md"];
  for (const page of [...pagesWithCommands(), ...more.map((name) => join(repository, name)).filter(existsSync)]) {
    const lines = readFileSync(page, "utf8").split("\n");
    const wrong = lines.filter((line) => /(?<!npx |[\w/.-])node (?!_)[\w./-]+\.m?ts\b/.test(line));
    assert.deepEqual(wrong, [], `${page}: begin it with npx, or use the command deedhouse`);
  }
});

test("with an old Node, `npx deedhouse` and a program of the quick start run in a clone", { skip }, async () => {
  const page = readFileSync(join(repository, "docs/start.md"), "utf8");
  const code = /```ts \[TypeScript\]\n(.*?)```/s.exec(page)?.[1] ?? assert.fail("the page has no TypeScript");
  assert.match(code, /^\/\/ npx node start\.ts /);
  const program = join(folder, "start.ts");
  writeFileSync(program, code);
  const settings = { DEEDHOUSE_URL: "http://127.0.0.1:1", DEEDHOUSE_API_KEY: "key", DEEDHOUSE_API_SECRET: "secret" };
  const started = await run("npx", ["node", program, "a.example"], { env: { ...env, ...settings } }).catch((e) => e);
  assert.match(started.stderr, /fetch failed/, "it has come to its first request");
  assert.match((await run("npx", ["deedhouse", "--version"])).stdout, /^\d/);
});

test("the command deedhouse runs through a link, with the Node that came along", async () => {
  const link = join(folder, "deedhouse");
  symlinkSync(join(repository, "bin/deedhouse"), link);
  assert.match((await run(link, ["--version"], { cwd: folder })).stdout, /^\d/);
});

test("the command deedhouse says what to do where no Node came along", async () => {
  const bin = join(folder, "alone/bin");
  for (const name of ["deedhouse", "check-runtime.mjs"]) {
    cpSync(fileURLToPath(new URL(`../../bin/${name}`, import.meta.url)), join(bin, name));
  }
  const path = join(folder, "path");
  mkdirSync(path);
  for (const name of ["sh", "dirname", "readlink"]) symlinkSync(`/usr/bin/${name}`, join(path, name));
  const fail = async (PATH: string) => {
    const { code, stderr } = await run(join(bin, "deedhouse"), [], { env: { PATH } }).catch((error) => error);
    assert.equal(code, 1);
    return stderr as string;
  };
  assert.match(
    await fail(path),
    /^deedhouse: there is no Node here: install Node 24, or .* without --omit=optional\n$/,
  );
  if (skip) return;
  symlinkSync(systemNode, join(path, "node"));
  assert.match(await fail(path), /^Deedhouse runs on Node 24, this is v\d.*npm brings it along.*\n$/);
});
