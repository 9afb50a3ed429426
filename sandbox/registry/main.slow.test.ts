import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { contactCreateFrame, createFrame, domainUri, infoFrame, loginFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";

const entry = join(import.meta.dirname, "test/run-main.ts");
/** The program as an operator starts it. */
const deedhouse = join(import.meta.dirname, "../../bin/deedhouse.ts");
const usual = ["--suffix", "test", "--registrar", "gate-one:secret-1"];

function start(context: TestContext, args: string[], program = entry, deployment?: string): ChildProcess {
  const env = { ...process.env, ...(deployment && { DEEDHOUSE_DEPLOYMENT: deployment }) };
  const child = fork(program, args, { stdio: ["ignore", "pipe", "pipe", "ipc"], env });
  context.after(() => child.kill("SIGKILL"));
  return child;
}

interface Ready {
  type: string;
  others?: Ready[];
  port: number;
  controlPort: number;
  caFile: string;
  clientCertFile: string;
  clientKeyFile: string;
}

async function ready(child: ChildProcess): Promise<Ready> {
  const [message] = (await once(child, "message")) as [Ready];
  assert.equal(message.type, "ready");
  return message;
}

test("keeps what it answered when it is killed in the middle", async (context) => {
  const data = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(data, { recursive: true }));
  const first = start(context, [...usual, "--data", data]);
  const client = await RawClient.login(await ready(first));
  await client.ask(contactCreateFrame("reg-1"));
  assert.equal((await client.ask(createFrame("a.test"))).code, 1000);
  first.kill("SIGKILL");
  await once(first, "exit");
  const second = await RawClient.login(await ready(start(context, [...usual, "--data", data])));
  assert.equal(textOf(await second.ask(infoFrame("a.test")), "clID"), "gate-one");
  second.close();
});

test("serves several registries in one process, each with its own names", async (context) => {
  const thin = ["--suffix", "thin.test", "--registrar", "gate-two:secret-2", "--setting", "dataModel=thin"];
  const { others, ...first } = await ready(start(context, [...usual, "--and", ...thin]));
  assert.equal(others?.length, 1);
  const client = await RawClient.login(first);
  await client.ask(contactCreateFrame("reg-1"));
  assert.equal((await client.ask(createFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("a.thin.test"))).code, 2306);
  client.close();
  const other = await RawClient.login(others![0]!, "gate-two", "secret-2", { objects: [domainUri] });
  assert.equal((await other.ask(createFrame("a.thin.test", { registrant: "" }))).code, 1000);
  other.close();
  await assert.rejects(RawClient.login(others![0]!, "gate-one", "secret-1", { objects: [domainUri] }), /2200/);
});

test("starts none of several registries if the options of one are invalid", async (context) => {
  const child = start(context, [...usual, "--and", "--suffix", "thin.test"]);
  const errors = text(child.stderr!);
  assert.deepEqual(await once(child, "exit"), [2, null]);
  assert.match(await errors, /needs at least one registrar/);
});

test("ends cleanly at SIGTERM, and when its parent has ended", async (context) => {
  const terminated = start(context, usual);
  await ready(terminated);
  terminated.kill("SIGTERM");
  assert.deepEqual(await once(terminated, "exit"), [0, null]);
  const orphan = start(context, usual);
  await ready(orphan);
  orphan.disconnect();
  assert.deepEqual(await once(orphan, "exit"), [0, null]);
});

async function assertRefused(child: ChildProcess, sentence: RegExp): Promise<void> {
  const [errors] = await Promise.all([text(child.stderr!), once(child, "exit")]);
  assert.match(errors, sentence);
  assert.equal(errors.trim().split("\n").length, 1, "one sentence, no stack");
  assert.equal(child.exitCode, 2);
}

test("names an invalid argument in one sentence", async (context) => {
  const cases: [string[], RegExp][] = [
    [["--suffix", "test", "--registrar", "gate-one"], /ID:PASSWORD/],
    [["--registrar", "gate-one:secret-1"], /at least one suffix/],
    [[...usual, "--faults", '{"commandsMax":-1}'], /commandsMax must be >= 0/],
    [[...usual, "--client-ca", "/nowhere/ca.pem"], /ENOENT.*\/nowhere\/ca\.pem/],
  ];
  await Promise.all(cases.map(([args, sentence]) => assertRefused(start(context, args), sentence)));
});

test("does not start in production: not by option, not by environment, not through the gateway's program", async (context) => {
  const refusal = /^The sandbox registry is for development and tests: it does not start in production\.$/m;
  const role = ["sandbox-registry", ...usual];
  await Promise.all([
    assertRefused(start(context, [...usual, "--production"]), refusal),
    assertRefused(start(context, role, deedhouse, "production"), refusal),
    // The gateway does not accept such a value either: it was not meant as a sandbox.
    assertRefused(start(context, role, deedhouse, "Production"), refusal),
  ]);
  const started = start(context, role, deedhouse, "sandbox");
  await ready(started);
  started.kill("SIGTERM");
  assert.deepEqual(await once(started, "exit"), [0, null]);
});

test("accepts settings of every kind and faults, and creates a client certificate", async (context) => {
  const data = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(data, { recursive: true }));
  const settings = [
    "sessionsMax=1",
    "dataModel=thin",
    'graceDays={"add":0}',
    'extensions=["rgp"]',
    "restoreReport=false",
  ];
  const args = [...settings.flatMap((setting) => ["--setting", setting]), "--faults", '{"commandsMax":2}'];
  const { port, caFile, clientCertFile, clientKeyFile } = await ready(
    start(context, [...usual, ...args, "--client-certificate", "--data", data]),
  );
  const identity = { cert: await readFile(clientCertFile), key: await readFile(clientKeyFile) };
  const client = await RawClient.connect(port, caFile, identity);
  context.after(() => client.close());
  assert.match((await client.receive()) ?? "", /<extURI>urn:ietf:params:xml:ns:rgp-1.0<\/extURI><\/svcExtension>/);
  assert.equal((await client.ask(loginFrame("gate-one", "secret-1", { objects: [domainUri] }))).code, 1000);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2500);
});
