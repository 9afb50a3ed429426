/** The programs of docs/start.md, each as it is printed there. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { clientEnvironment, startTestGateway } from "../harness/gateway.ts";
import { repository, runTool } from "../harness/running-system.ts";

const page = readFileSync(join(repository, "docs/start.md"), "utf8");
const programs = [...page.matchAll(/```(\w+) \[([\w ]+)\]\n(.*?)```/gs)].map(([, , name, code]) => ({
  name: name!,
  code: code!,
}));

/** How each is run, as its first line says, and the Debian package that it needs. */
const runs: Record<string, { file: string; command: string[]; probe: string[]; needs: string }> = {
  curl: { file: "start.sh", command: ["bash"], probe: ["curl", "--version"], needs: "curl" },
  TypeScript: { file: "start.ts", command: [process.execPath], probe: [process.execPath, "--version"], needs: "node" },
  PHP: { file: "start.php", command: ["php"], probe: ["php", "-r", "curl_version();"], needs: "php-curl" },
  Python: { file: "start.py", command: ["python3"], probe: ["python3", "--version"], needs: "python3" },
  Go: { file: "start.go", command: ["go", "run"], probe: ["go", "version"], needs: "golang-go" },
};

const gateway = await startTestGateway({ after }, { registry: { expectedSeconds: 1 } });
const env = clientEnvironment(gateway, await gateway.addReseller());
const folder = mkdtempSync(join(tmpdir(), "deedhouse-start-"));
after(() => rmSync(folder, { recursive: true }));

function whySkipped([program = "", ...args]: string[], needs: string): string | false {
  return spawnSync(program, args).status === 0 ? false : `${needs} is not installed`;
}

test("the page has a program for each language", () => {
  assert.deepEqual(programs.map(({ name }) => name).sort(), Object.keys(runs).sort());
});

/** Runs a program of the page as its first line says. */
async function run({ name, code }: (typeof programs)[number], domainName: string) {
  const { file, command } = runs[name]!;
  const path = join(folder, file);
  writeFileSync(path, code);
  const [program = "", ...args] = [...command, path, domainName];
  const home = { HOME: folder, GOCACHE: join(folder, "go-cache"), GOFLAGS: "-mod=mod" };
  const child = spawn(program, args, { cwd: folder, env: { ...env, ...home } });
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { output, errors, status: child.exitCode };
}

for (const program of programs) {
  const { name } = program;
  const { probe, needs } = runs[name]!;
  const skip = whySkipped(probe, needs);
  test(`the program in ${name} lists names, registers one, and reads it when it is registered`, { skip }, async () => {
    const domainName = `${name.toLowerCase()}.example`;
    const { output, errors, status } = await run(program, domainName);
    assert.match(output, /200.*\[.*202.*\/domains\/registrations\/REG-.*"status":"Finished"/s, errors);
    const read = output.slice(output.lastIndexOf('"status":"Finished"'));
    assert.match(read, new RegExp(`200.*"domain_name":"${domainName}"`, "s"), output);
    assert.equal(status, 0, errors);
  });

  test(`the program in ${name} ends with an error when the name cannot be ordered`, { skip }, async () => {
    const { output, status } = await run(program, "taken-1.example");
    assert.match(output, /domain_availability_taken/);
    assert.equal(status, 1);
  });
}

test("the TypeScript has no error of types", () => {
  const path = join(folder, "start.ts");
  const { code } = programs.find(({ name }) => name === "TypeScript")!;
  writeFileSync(path, code);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "preserve", "--types", "node"];
  const roots = ["--typeRoots", join(repository, "node_modules/@types")];
  const tsc = join(repository, "node_modules/.bin/tsc");
  const { status, stdout } = spawnSync(tsc, [...options, ...roots, path], { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout);
});

test("the commands of the tool work", async () => {
  const [block = ""] = /npx deedhouse domains register[^`]*/.exec(page) ?? [];
  const commands = block.trim().split("\n");
  assert.equal(commands.length, 3);
  for (const command of commands) {
    const words = command.replace("npx deedhouse ", "").split(" ");
    const { code, stderr } = await runTool(words, { env: { ...env, DEEDHOUSE_PROFILES: join(folder, "none") } });
    assert.equal(code, 0, stderr);
  }
});
