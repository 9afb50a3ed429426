import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { RawFtp } from "#nodes/proftpd-nginx/test-ftp.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { password, testAccount, usageOf } from "#nodes/test-account.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";

const dayMs = 86_400_000;
const clock = createManualClock(1_795_000_000);
const started = cannotStart ? undefined : await startTestProftpdNode({ clock });
after(() => started?.close());
const node = started as TestProftpdNode;

test("folders that nest deeper than a path can say are counted, and go with the trash", {
  skip: cannotStart,
}, async () => {
  const account = testAccount("deep.example", 204_001, { filesMax: 1_000, diskBytesMax: 100_000_000 });
  await node.node.ensureAccount(account);
  const client = await RawFtp.login(node, account.identifier, password);
  await client.ask("CWD /www");
  const name = "d".repeat(120);
  let folders = 0;
  // From the home, ProFTPD takes paths as long as the system's: from the machine's root they are longer.
  while ((await client.ask(`MKD ${name}`)).startsWith("257")) {
    folders += 1;
    await client.ask(`CWD ${name}`);
  }
  for (let nameChars = 60; nameChars < 120; nameChars++) {
    if ((await client.ask(`MKD ${"e".repeat(nameChars)}`)).startsWith("257")) folders += 1;
  }
  client.close();
  // Counted in the background, once the log tells of the folders.
  while ((await usageOf(node.node, account.identifier)).files !== folders) await pause(10);
  assert.equal((await usageOf(node.node, account.identifier)).bytes, 0);
  await node.node.remove(account);
  clock.advance(31 * dayMs);
  await node.restart();
  // Its end waits for the purge that its start began.
  await node.restart();
  assert.deepEqual(await readdir(node.paths.trash), []);
});
