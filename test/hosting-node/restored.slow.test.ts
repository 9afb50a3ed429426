/** Restores the gateway's database from a backup while everything runs, and a node of ProFTPD and nginx knows more. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { backUp } from "../harness/backup.ts";
import { testDatabase } from "../harness/database.ts";
import { eventually } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { type AgentProcess, cannotRun, nodeId, startWholeWay, type WholeWay } from "./stage.ts";

const options = { skip: cannotRun };
const starting = cannotRun ? undefined : startWholeWay({ after }, testDatabase({ after }));
let way: WholeWay;
let agent: AgentProcess;
before(async () => {
  if (starting === undefined) return;
  way = await starting;
  agent = await way.startAgent();
});

const [taken = "", ...others] = ["lost-1.example", "lost-2.example"];
const lost = [taken, ...others];
const fresh = Array.from({ length: 4 }, (_, index) => `new-${index}.example`);

const uidsOf = async (identifiers: readonly string[]) => {
  const sql = "SELECT uid::int4 FROM hosting_accounts WHERE identifier = ANY ($1) ORDER BY id";
  return (await runSql<{ uid: number }>(way.databaseUrl, sql, [identifiers])).map(({ uid }) => uid);
};
const homes = async () => (await readdir(way.machine.paths.homes)).map(Number);
const waitsFor = async (identifier: string) =>
  String((await way.operated("hosting", "show", identifier)).waits_because ?? "");
const alarms = async () => {
  const listed = (await way.operated("alarms", "list")) as unknown as { kind: string; subject: string }[];
  return listed.filter(({ kind, subject }) => kind === "hosting-node-restored" && subject === nodeId);
};
/** Retries while connections return to the restored database. */
const persistently = (what: string, run: () => Promise<unknown>) =>
  eventually(what, () =>
    run().then(
      () => true,
      () => false,
    ),
  );

/** A server that refuses connections for a moment would be another fault. */
async function whileTheyStandStill<Result>(work: () => Promise<Result>): Promise<Result> {
  const { api, worker } = way.system.ready().pids;
  const signal = (name: NodeJS.Signals) => [api, worker].forEach((pid) => void process.kill(pid!, name));
  signal("SIGSTOP");
  try {
    return await work();
  } finally {
    signal("SIGCONT");
  }
}

test(
  "a node of ProFTPD and nginx removes nothing after a restore until an operator goes on, and gives no site to another",
  options,
  async (t) => {
    for (const name of ["doomed.example", "kept.example"]) await way.createReady(name);
    const [doomed = 0] = await uidsOf(["doomed.example"]);
    const backup = await whileTheyStandStill(() => backUp(t, way.databaseUrl));
    await persistently("the api is back", () => way.client.getHostingAccount("kept.example"));
    for (const name of lost) await way.createReady(name);
    assert.equal((await way.upload(taken, "theirs")).code, 0);
    const lostUids = await uidsOf(lost);
    await agent.kill();
    await whileTheyStandStill(() => backup.restore());

    // Before the restore is noticed, another reseller gets the uid of the account whose name he orders.
    await persistently("the api is back", () => way.client.getHostingAccount("kept.example"));
    const rival = await way.addReseller("rival");
    await way.create(taken, rival);
    await eventually("it waits for its node", async () => {
      const sql = "SELECT FROM node_states WHERE identifier = $1 AND uid = $2";
      return (await runSql(way.databaseUrl, sql, [taken, lostUids[0]])).length === 1;
    });
    agent = await way.startAgent();
    await eventually("the operator is called", async () => (await alarms()).length === 1);
    await eventually("it waits", async () => /by a stray/.test(await waitsFor(taken)));
    assert.deepEqual(await way.page(taken), { status: 200, body: "theirs" });

    await way.client.deleteHostingAccount("doomed.example");
    for (const name of fresh) await way.createReady(name);
    const uids = await uidsOf([taken, ...fresh]);
    assert.equal(new Set(uids).size, 1 + fresh.length);
    assert.ok(Math.min(...uids) > Math.max(...lostUids), `${uids} lie above ${lostUids}`);
    await eventually("the removal was tried", async () => /nothing is removed/.test(await waitsFor("doomed.example")));
    for (const uid of [doomed, ...lostUids]) assert.ok((await homes()).includes(uid), `${uid} is there`);

    await way.operated("node", "restored", nodeId, "--yes");
    assert.equal((await alarms()).length, 0);
    await eventually("what waited to be removed is gone", async () => !(await homes()).includes(doomed));
    const listed = await way.operate("node", "reconcile", nodeId, "--remove-strays", "--json");
    const strays = (JSON.parse(listed.stdout).findings as { identifier: string }[]).map(({ identifier }) => identifier);
    assert.deepEqual(strays.sort(), lost);
    await way.operate("node", "reconcile", nodeId, "--remove-strays", taken, "--yes");
    await way.operated("hosting", "retry", taken);
    await way.untilReady(taken, rival);
    assert.notEqual((await way.page(taken)).body, "theirs");
    const [gone = 0, ...left] = lostUids;
    assert.ok(!(await homes()).includes(gone));
    for (const uid of left) assert.ok((await homes()).includes(uid), `${uid} was not named`);
  },
);
