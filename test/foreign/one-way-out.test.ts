/** Nothing leaves the client or the sandbox but through the one place that holds it against the schemas first. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { startFixture } from "#registry/epp/pool/test-pool.ts";
import { EppFrameInvalid } from "#registry/epp/xml/schema.ts";
import { contactCreateFrame, createFrame, infoFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";

const root = join(import.meta.dirname, "../..");
const isTestCode = /\.test\.ts$|\/test\/|\/test-[^/]*$/;

/** The file of every call that frames something for the wire. */
function framingPlaces(folder: string): string[] {
  const paths = globSync(`${folder}/**/*.ts`, { cwd: root }).filter((path) => !isTestCode.test(path));
  return paths.flatMap((path) => {
    const lines = readFileSync(join(root, path), "utf8").split("\n");
    return lines.filter((line) => /(?<!function )\bencodeFrame\(/.test(line)).map(() => path);
  });
}

test("client and sandbox frame what they send in one place each", () => {
  assert.deepEqual(framingPlaces("src"), ["src/registry/epp/connection.ts"]);
  assert.deepEqual(framingPlaces("sandbox"), ["sandbox/registry/session.ts"]);
});

test("the client sends nothing that breaks the schemas", async (context) => {
  const { standIn, pool } = await startFixture(context);
  using lease = await pool.acquire("transform", { waitMs: 30_000 });
  const before = standIn.requests.length;
  const authInfo = new Secret("auth-1");
  for (const command of [
    domainCheck(""),
    domainCreate({ name: "a.example", periodYears: 0, authInfo }),
    domainCreate({ name: "a.example", periodYears: 1, registrant: "ab", authInfo }),
  ]) {
    await assert.rejects(lease.request<unknown>(command, { clTRID: "broken-1" }), EppFrameInvalid);
  }
  await assert.rejects(lease.request(domainCheck("a.example"), { clTRID: "x" }), EppFrameInvalid);
  assert.equal(standIn.requests.length, before);
});

/** A sandbox that keeps its names in `data`, as a process of its own. */
async function startSandbox(context: TestContext, data: string) {
  const entry = join(root, "sandbox/registry/test/run-main.ts");
  const args = ["--suffix", "test", "--registrar", "gate-one:secret-1", "--data", data];
  const child = fork(entry, args, { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  context.after(() => child.kill("SIGKILL"));
  const [ready] = (await once(child, "message")) as [{ port: number; caFile: string }];
  return { child, client: await RawClient.login(ready) };
}

test("the sandbox ends rather than send an answer that breaks the schemas", async (context) => {
  const data = await mkdtemp(join(tmpdir(), "one-way-out-"));
  context.after(() => rm(data, { recursive: true }));
  const first = await startSandbox(context, data);
  await first.client.ask(contactCreateFrame("reg-1"));
  assert.equal((await first.client.ask(createFrame("odd.test"))).code, 1000);
  first.child.kill("SIGTERM");
  await once(first.child, "exit");
  first.client.close();
  {
    using database = new DatabaseSync(join(data, "registry.sqlite"));
    const { changes } = database
      .prepare("UPDATE domains SET row = json_set(row, '$.roid', $roid) WHERE key = $name")
      .run({ name: "odd.test", roid: "no roid" });
    assert.equal(changes, 1);
  }

  const { child, client } = await startSandbox(context, data);
  const [errors, , [status]] = await Promise.all([
    text(child.stderr!),
    assert.rejects(client.ask(infoFrame("odd.test")), /ended without an answer/),
    once(child, "exit"),
  ]);
  client.close();
  assert.notEqual(status, 0);
  assert.match(errors, /an answer breaks the schema: .*roid/);
});
