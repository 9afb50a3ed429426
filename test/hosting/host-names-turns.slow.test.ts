/** Name servers that are silent delay only the reseller whose names they serve. */
import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { answerQuestion, askNameServers, questionLockClass } from "#hosting/host-names/questions.ts";
import { heldLocks, lockKey } from "#locks/advisory-locks.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { startHostNamesStage } from "./host-names-stage.ts";
import { eventually } from "./stage.ts";

const stage = await startHostNamesStage({ after });
const { gateway, names } = stage;
await runSql(gateway.databaseUrl, `UPDATE service_packs SET host_names_max = 200 WHERE id = ${stage.packId}`);
await stage.ready("victim.example");
afterEach(() => runSql(gateway.databaseUrl, "DELETE FROM host_names WHERE host_name LIKE '%.silent.example'"));

/** Adds this many host names whose name servers never answer. */
async function addSilent(identifier: string, count: number, as?: TestReseller): Promise<void> {
  const hosts = Array.from({ length: count }, (_, index) => `n${index}.${identifier}.silent.example`);
  names.silentAbout = /\.silent\.example$/;
  for (const host of hosts) {
    const reply = await stage.send("PUT", identifier, host, as);
    assert.equal(reply.status, 202, reply.text);
  }
}

/** The names that were queried, each once, in the order of their first queries. */
const askedInOrder = () => [...new Set(names.asked)];
const isSilent = (name: string) => name.endsWith(".silent.example");

/** Checks a name whose name servers answer. @returns how many silent names were queried while it waited */
async function addProven(hostName: string): Promise<number> {
  const before = askedInOrder();
  const added = await stage.send("PUT", "victim.example", hostName);
  assert.equal(added.status, 202);
  const { record } = await stage.read("victim.example", hostName);
  names.records.set(record.name, [record.value]);
  // The first check may have come before the record.
  await stage.send("PUT", "victim.example", hostName);
  await eventually("it is proven", async () => (await stage.read("victim.example", hostName)).status === "Proven");
  const now = askedInOrder();
  return now.slice(before.length, now.indexOf(record.name)).filter(isSilent).length;
}

test("a hundred names with silent name servers use no more than their reseller's share of slots", async () => {
  const attacker = await gateway.addReseller();
  await stage.ready("flood.example", attacker);
  await addSilent("flood.example", 100, attacker);
  await eventually("its share is taken, and the others wait", async () => {
    const [row] = await runSql<{ taken: number; waiting: number }>(
      gateway.databaseUrl,
      `SELECT count(held.key)::int4 AS taken, count(*)::int4 AS waiting
       FROM host_name_questions LEFT JOIN (${heldLocks(questionLockClass)}) AS held ON key = ${lockKey("host_name_id")}`,
    );
    assert.ok((row?.taken ?? 0) <= 4, `${row?.taken} are taken`);
    return row?.taken === 4 && row.waiting >= 90;
  });
  const before = await addProven("one.victim.test");
  // By age alone, all names that wait would be first.
  assert.ok(before < 40, `${before} names were asked about before`);
});

test("resellers take turns: many names of one reseller do not delay another reseller's first name", async () => {
  const attackers = await Promise.all(Array.from({ length: 5 }, () => gateway.addReseller()));
  for (const [index, attacker] of attackers.entries()) await stage.ready(`crowd-${index}.example`, attacker);
  const earlier = askedInOrder().length;
  await Promise.all(attackers.map((attacker, index) => addSilent(`crowd-${index}.example`, 20, attacker)));
  await eventually("all slots are in use", async () => askedInOrder().length >= earlier + 16);
  const before = await addProven("two.victim.test");
  // One name of each of the five, and not all hundred.
  assert.ok(before < 40, `${before} names were asked about before`);
});

test("a name that is requested again during a check is checked again", async () => {
  await gateway.stopWorker();
  await stage.send("PUT", "victim.example", "www.again.test");
  const [host] = await runSql<{ id: string }>(
    gateway.databaseUrl,
    "SELECT id FROM host_names WHERE host_name = 'www.again.test'",
  );
  const id = Number(host?.id);
  const { context } = gateway;
  const read = () => runSql(gateway.databaseUrl, "SELECT FROM host_name_questions WHERE host_name_id = $1", [id]);
  const askFor = () => askNameServers(context, { id, version: 0 });
  await askFor();
  await answerQuestion(context, id, askFor);
  assert.equal((await read()).length, 1, "it has another turn");
  await answerQuestion(context, id, async () => {});
  assert.equal((await read()).length, 0);
  await gateway.startWorker();
});

test("a question of a dead worker is asked again, and the question of a deleted name is deleted", async () => {
  await gateway.stopWorker();
  await stage.send("PUT", "victim.example", "www.left.test");
  const { record } = await stage.read("victim.example", "www.left.test");
  names.records.set(record.name, [record.value]);
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO host_name_questions (host_name_id, reseller_id, turn)
     SELECT id, ${stage.reseller.id}, 0 FROM host_names WHERE host_name = 'www.left.test';
     UPDATE host_names SET next_step_at = NULL WHERE host_name = 'www.left.test'`,
  );
  await gateway.startWorker();
  await eventually(
    "it is proven",
    async () => (await stage.read("victim.example", "www.left.test")).status === "Proven",
  );
  await stage.send("DELETE", "victim.example", "www.left.test");
  const left = await runSql(
    gateway.databaseUrl,
    "SELECT 1 FROM host_name_questions JOIN host_names ON id = host_name_id",
  );
  assert.deepEqual(left, []);
});
