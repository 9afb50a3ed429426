import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { contactCreateFrame, createFrame, infoFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";

const entry = join(import.meta.dirname, "test/run-main.ts");
const usual = ["--suffix", "test", "--registrar", "gate-one:secret-1"];

function start(context: TestContext, args: string[]): ChildProcess {
  const child = fork(entry, args, { stdio: ["ignore", "pipe", "pipe", "ipc"] });
  context.after(() => child.kill("SIGKILL"));
  return child;
}

async function ready(child: ChildProcess): Promise<{ port: number; controlPort: number; caFile: string }> {
  const [message] = (await once(child, "message")) as [
    { type: string; port: number; controlPort: number; caFile: string },
  ];
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

test("ends cleanly at SIGTERM, and when its parent is gone", async (context) => {
  const terminated = start(context, usual);
  await ready(terminated);
  terminated.kill("SIGTERM");
  assert.deepEqual(await once(terminated, "exit"), [0, null]);
  const orphan = start(context, usual);
  await ready(orphan);
  orphan.disconnect();
  assert.deepEqual(await once(orphan, "exit"), [0, null]);
});

test("says in a sentence what is wrong with its arguments, and refuses production", async (context) => {
  const cases: [string[], RegExp][] = [
    [[...usual, "--production"], /does not start in production/],
    [["--registrar", "gate-one:secret-1"], /at least one suffix/],
    [["--suffix", "test", "--registrar", "gate-one"], /ID:PASSWORD/],
    [[...usual, "--setting", "nothing=1"], /no "nothing"/],
  ];
  for (const [args, sentence] of cases) {
    const child = start(context, args);
    const [errors] = await Promise.all([text(child.stderr!), once(child, "exit")]);
    assert.match(errors, sentence);
    assert.equal(child.exitCode, 2);
  }
});
