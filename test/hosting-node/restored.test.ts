/** The gateway's database is restored from a backup beneath everything that runs, and a node of ProFTPD and nginx knows more. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, test } from "node:test";
import { backUp } from "../harness/backup.ts";
import { testDatabase } from "../harness/database.ts";
import { eventually } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { cannotRun, nodeId, startWholeWay, type WholeWay } from "./stage.ts";

const options = { skip: cannotRun };
const database = cannotRun ? undefined : testDatabase({ after });
const starting = cannotRun ? undefined : startWholeWay({ after }, database);
let way: WholeWay;
before(async () => {
  if (starting === undefined) return;
  way = await starting;
  await way.startAgent();
});

const lost = ["lost-1.example", "lost-2.example", "lost-3.example"];
const fresh = Array.from({ length: 5 }, (_, index) => `new-${index}.example`);

const identifiers = async () =>
  (
    await runSql<{ identifier: string; uid: string }>(
      way.databaseUrl,
      "SELECT identifier, uid::text FROM hosting_accounts",
    )
  ).map(({ identifier, uid }) => ({ identifier, uid: Number(uid) }));
const homes = async () => (await readdir(way.machine.paths.homes)).map(Number);
const alarms = async () => {
  const listed = (await way.operated("alarms", "list")) as unknown as { kind: string; subject: string }[];
  return listed.filter(({ kind, subject }) => kind === "hosting-node-restored" && subject === nodeId);
};

test(
  "a node of ProFTPD and nginx removes nothing after a restore until an operator goes on, and takes new accounts",
  options,
  async (t) => {
    for (const name of ["doomed.example", "kept.example"]) await way.createReady(name);
    const doomed = (await identifiers()).find(({ identifier }) => identifier === "doomed.example")?.uid ?? 0;
    const backup = await backUp(t, way.databaseUrl);
    for (const name of lost)
      await eventually("it is made", () =>
        way.createReady(name).then(
          () => true,
          () => false,
        ),
      );
    const lostUids = (await identifiers()).filter(({ identifier }) => lost.includes(identifier)).map(({ uid }) => uid);
    await backup.restore();
    await eventually("the operator is called", async () => (await alarms().catch(() => [])).length === 1);

    await eventually("it is taken", () =>
      way.client.deleteHostingAccount("doomed.example").then(
        () => true,
        () => false,
      ),
    );
    for (const name of fresh) await way.createReady(name);
    const uids = (await identifiers()).filter(({ identifier }) => fresh.includes(identifier)).map(({ uid }) => uid);
    assert.equal(new Set(uids).size, fresh.length);
    assert.ok(Math.min(...uids) > Math.max(...lostUids), `${uids} lie above ${lostUids}`);
    await eventually("the removal was tried", async () => {
      const shown = await way.operated("hosting", "show", "doomed.example");
      return /nothing is removed/.test(String(shown.waits_because));
    });
    for (const uid of [doomed, ...lostUids]) assert.ok((await homes()).includes(uid), `${uid} is there`);

    await way.operated("node", "restored", nodeId, "--yes");
    assert.equal((await alarms()).length, 0);
    await eventually("what waited to be removed is gone", async () => !(await homes()).includes(doomed));
    const listed = await way.operate("node", "reconcile", nodeId, "--remove-strays", "--json");
    const strays = (JSON.parse(listed.stdout).findings as { identifier: string }[]).map(({ identifier }) => identifier);
    assert.deepEqual(strays.sort(), lost);
    const [first = ""] = lost;
    await way.operate("node", "reconcile", nodeId, "--remove-strays", first, "--yes");
    const [gone = 0, ...left] = lostUids;
    assert.ok(!(await homes()).includes(gone));
    for (const uid of left) assert.ok((await homes()).includes(uid), `${uid} was not named`);
    assert.equal((await way.page("kept.example")).status, 404, "its empty site answers");
  },
);
