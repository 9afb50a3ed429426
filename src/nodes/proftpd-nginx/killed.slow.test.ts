import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pino } from "pino";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { accountToJson } from "#nodes/account-json.ts";
import type { AccountState } from "#nodes/agent-node.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import { createProftpdNode } from "#nodes/proftpd-nginx/node.ts";
import { nodePaths, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";
import { describeTestNode } from "#nodes/proftpd-nginx/test-node.ts";
import { testAccount } from "#nodes/test-account.ts";

const program = join(import.meta.dirname, "test-agent-child.ts");
const stepsMax = 200;
const atOnce = 4;

const staying = testAccount("staying.example", 205_001, { hostNames: ["old.example"] });
const changed: DesiredAccount = { ...staying, hostNames: ["new.example"], filesMax: 7 };
const leaving = testAccount("leaving.example", 205_002);
const successor = testAccount("leaving.example", 205_003, { suspended: true });
const isThere = (account: DesiredAccount): AccountState => ({ kind: "account", account });
const lists: AccountState[][] = [
  [isThere(staying), isThere(leaving)],
  [isThere(changed), { kind: "removed", account: leaving }, isThere(successor)],
];

/** @returns whether it was killed */
function applyUntil(settings: ProftpdNodeSettings, step: number, cache: string): Promise<boolean> {
  const asJson = (state: AccountState) =>
    state.kind === "account" ? { ...state, account: accountToJson(state.account) } : state;
  const told = lists.map((list) => JSON.stringify(list.map(asJson)));
  return new Promise((resolve, reject) => {
    const args = [program, JSON.stringify(settings), String(step), ...told];
    // Dozens of processes load the same files.
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    execFile(process.execPath, args, { env }, (error, _out, printed) => {
      if (error === null) resolve(false);
      else if (error.signal === "SIGKILL") resolve(true);
      else reject(new Error(printed));
    });
  });
}

const openNode = (settings: ProftpdNodeSettings) => {
  const nowhere = { host: "127.0.0.1", port: 9 };
  const log = pino({ level: "silent" });
  return createProftpdNode({ settings, ftp: nowhere, web: nowhere, clock: systemClock, random: systemRandom, log });
};

const loginsOf = async (settings: ProftpdNodeSettings) => {
  const text = await readFile(nodePaths(settings).logins, "utf8");
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(":").slice(0, 3));
};

/** @returns whether there was such a step */
async function checkKilledAt(step: number, cache: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-killed-"));
  try {
    await chmod(folder, 0o755);
    const settings = describeTestNode(folder, [9, 9, 9]);
    const isKilled = await applyUntil(settings, step, cache);
    const node = await openNode(settings);
    const paths = nodePaths(settings);
    const what = `killed at step ${step}`;
    // What was begun is finished by the start, so that nothing on the machine is in between.
    assert.deepEqual(await node.strays(), { uids: [], withoutHome: [], hostNames: [] }, what);
    const open = (await node.list()).filter(({ suspended }) => !suspended).map(({ identifier }) => identifier);
    assert.deepEqual((await loginsOf(settings)).map(([user]) => user).toSorted(), open.toSorted(), what);
    for (const list of lists.slice(1)) assert.deepEqual(await node.apply(list), [], what);
    assert.deepEqual(await loginsOf(settings), [["staying.example", staying.passwordHash?.reveal(), "205001"]], what);
    const found = (await node.list()).toSorted((a, b) => a.uid - b.uid);
    assert.deepEqual(
      found.map(({ uid, filesMax, suspended }) => [uid, filesMax, suspended]),
      [
        [205_001, 7, false],
        [205_003, successor.filesMax, true],
      ],
      what,
    );
    assert.deepEqual(await node.strays(), { uids: [], withoutHome: [], hostNames: [] }, what);
    assert.ok(existsSync(join(paths.trash, "205002")), what);
    assert.ok(existsSync(join(paths.homes, "205003", ".suspended")), what);
    const [refused] = await node.apply([isThere(leaving)]);
    assert.equal(refused?.reason, "uid_retired", what);
    await node.close();
    return isKilled;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const options = { skip: process.getuid?.() !== 0 && "not root" };

test(
  "abuse 7: an agent killed at any step ends with one folder, one uid and one login per account",
  options,
  async (t) => {
    const cache = await mkdtemp(join(tmpdir(), "deedhouse-cache-"));
    t.after(() => rm(cache, { recursive: true }));
    let last = 0;
    for (let first = 1; last === 0; first += atOnce) {
      assert.ok(first < stepsMax, "the agent does not come to an end");
      const steps = Array.from({ length: atOnce }, (_, index) => first + index);
      const killed = await Promise.all(steps.map((step) => checkKilledAt(step, cache)));
      last = steps[killed.indexOf(false)] ?? 0;
    }
    assert.ok(last > 25, `only ${last} steps were tried`);
  },
);
