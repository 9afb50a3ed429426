import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { clientEnvironment, startTestGateway } from "../harness/gateway.ts";
import { eventually, launchTool } from "../harness/running-system.ts";

interface Result {
  domain_name: string;
  status: string;
  order_code?: string;
  error_code?: string;
}

/** A reseller with a file of names, and the tool that registers them. */
async function startBulk(t: TestContext, names: string[]) {
  const gateway = await startTestGateway(t);
  const env = clientEnvironment(gateway, await gateway.addReseller({ rateLimit: 10_000 }));
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-names-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "names.txt");
  const write = (lines: string[]) => writeFileSync(file, `${lines.join("\n")}\n`);
  write(names);
  const launch = (...args: string[]) =>
    launchTool(["domains", "register", "--file", file, "--wait", "--json", ...args], { env });
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await launch(...args).ended;
    return { code, stderr, results: JSON.parse(stdout) as Result[] };
  };
  const creates = () => gateway.registry.store.journal.entries({ command: "domain:create", executed: true });
  const journal = () => readFileSync(`${file}.orders`, "utf8");
  return { gateway, write, launch, run, creates, journal };
}

const named = (count: number) => Array.from({ length: count }, (_, index) => `bulk-${index}.example`);
const statusOf = (results: Result[], name: string) => results.find(({ domain_name }) => domain_name === name)?.status;

test("every name of a file is registered once, what fails is said, and can be ordered again", async (t) => {
  const names = named(12);
  const bulk = await startBulk(t, [
    "# ours",
    ...names,
    "",
    "BULK-1.example",
    "taken-a.example",
    "hello.unknown-suffix",
  ]);
  const first = await bulk.run();
  assert.equal(first.code, 6, first.stderr);
  for (const name of names) assert.equal(statusOf(first.results, name), "Finished", name);
  assert.equal(statusOf(first.results, "taken-a.example"), "Refused");
  assert.equal(statusOf(first.results, "hello.unknown-suffix"), "Refused");
  assert.match(
    first.stderr,
    /12 registered, 0 in progress, 2 failed, 0 not ordered\n.*not registered: 2 of 14 names\n.*--retry-failed/s,
  );
  assert.equal(bulk.creates().length, 12);
  const known = bulk.journal();
  const second = await bulk.run();
  assert.deepEqual([second.code, second.results], [6, first.results], "a repeat says the same");
  assert.equal(bulk.journal(), known, "and asks for nothing");
  bulk.write([...names, "late.example"]);
  const third = await bulk.run("--retry-failed");
  assert.equal(third.code, 0, third.stderr);
  assert.equal(bulk.creates().length, 13);
});

test("a run that is killed continues where it was, and orders nothing twice", async (t) => {
  const names = named(40);
  const bulk = await startBulk(t, names);
  const { child, ended } = bulk.launch();
  await eventually("some are ordered", () => bulk.creates().length >= 5);
  child.kill("SIGKILL");
  await ended;
  const { code, results, stderr } = await bulk.run();
  assert.equal(code, 0, stderr);
  assert.deepEqual(new Set(results.map(({ status }) => status)), new Set(["Finished"]));
  const sent = bulk.creates().map(({ name }) => name);
  assert.deepEqual(sent.sort(), names.sort(), "each was created once");
});
