/**
 * Kills worker, agent and api at each step of an account's life, on ProFTPD and nginx. In the end each account is in its desired
 * state, and each change happened once. Every change on the node's disk is killed in `src/nodes/proftpd-nginx/killed.slow.test.ts`.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { suspendAccount } from "#hosting/accounts/suspend.ts";
import { systemClock } from "#lib/clock.ts";
import { testDatabase } from "../harness/database.ts";
import { eventually } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { type HeldChange, holdAt } from "../orders/hold.ts";
import type { AgentMoment } from "./agent-process.ts";
import { type AgentProcess, cannotRun, nodeId, startWholeWay, type WholeWay } from "./stage.ts";

const options = { skip: cannotRun };
const database = cannotRun ? undefined : testDatabase({ after });
const starting = database && startWholeWay({ after }, database);
let way: WholeWay;
let agent: AgentProcess;
before(async () => {
  if (starting === undefined) return;
  way = await starting;
  agent = await way.startAgent();
});

const newPassword = "Another-horse-8-stable";
type Doing = "creation" | "suspension" | "password" | "removal";
/** The request, the one event of it in the history, and the status that the account then has. */
const doings: Record<Doing, { ask(identifier: string): Promise<unknown>; event: string; status: string }> = {
  creation: { ask: (identifier) => way.create(identifier), event: "probed", status: "Ready" },
  suspension: {
    ask: suspend,
    event: "suspended",
    status: "Suspended",
  },
  password: {
    ask: (identifier) => way.client.setHostingPassword(identifier, newPassword),
    event: "applied",
    status: "Ready",
  },
  removal: {
    ask: (identifier) => way.client.deleteHostingAccount(identifier),
    event: "removed",
    status: "Removed",
  },
};

/** What the command-line tool does, without the second that it takes to start. */
async function suspend(identifier: string): Promise<void> {
  const context = { database: (await database)!.database, clock: systemClock };
  await suspendAccount(context, identifier, "unpaid");
}

/** All requests, by identifier. */
const asked = new Map<string, Doing>();

async function ask(doing: Doing, identifier: string): Promise<void> {
  asked.set(identifier, doing);
  await doings[doing].ask(identifier);
}

/** Creates the accounts of all steps but creations. */
async function prepare(steps: { doing: Doing; identifier: string }[]): Promise<void> {
  const existing = steps.filter(({ doing }) => doing !== "creation");
  await Promise.all(existing.map(({ identifier }) => way.createReady(identifier)));
}

const agentMoments: AgentMoment[] = [
  "before it asks",
  "with a state in its hands",
  "while it applies a state",
  "before it records that it is applied",
  "before it acknowledges",
  "with an acknowledged state",
  "when it is to probe",
];

test(
  "abuse 7: an agent that is killed at each of its steps, after its gateway was, does all that was asked meanwhile",
  options,
  async () => {
    const steps = (Object.keys(doings) as Doing[]).map((doing) => ({ doing, identifier: `${doing}.agent.example` }));
    await prepare(steps);
    await agent.kill();
    for (const { doing, identifier } of steps) await ask(doing, identifier);
    await eventually("all of them wait for the node", async () => {
      const sql = `SELECT count(*)::int4 FROM node_states JOIN node_channels USING (node_id) WHERE version > applied_version`;
      return (await runSql<{ count: number }>(way.databaseUrl, sql))[0]?.count === steps.length;
    });
    process.kill(way.system.ready().pids.api!, "SIGKILL");
    for (const moment of agentMoments) {
      assert.equal(await (await way.startAgent(moment)).ended, "SIGKILL", moment);
    }
    agent = await way.startAgent();
    await assertAllDone();
  },
);

type Moment = "placed" | "sent" | "asked" | "written";
interface Step {
  doing: Doing;
  at: Moment;
  identifier: string;
}

/** The write of the worker at a moment of a step. */
function heldChange({ doing, at, identifier }: Step): HeldChange {
  const isIt = `NEW.identifier = '${identifier}'`;
  if (at === "sent") {
    if (doing === "creation") return { table: "node_states", on: "INSERT", when: isIt };
    // Not its usage, which the node may report at any time.
    return { table: "node_states", on: "UPDATE", when: `${isIt} AND NEW.version > OLD.version` };
  }
  if (at === "asked") return { table: "node_questions", on: "INSERT", when: isIt };
  const placed = "OLD.node_id IS NULL AND NEW.node_id IS NOT NULL";
  const settled = "NEW.applied_version = NEW.wanted_version AND OLD.applied_version < OLD.wanted_version";
  return { table: "hosting_accounts", on: "UPDATE", when: `${isIt} AND ${at === "placed" ? placed : settled}` };
}

interface Killing {
  /** What becomes of the writes that are held when the worker is killed. */
  fate: "undone" | "kept";
  held: (readonly [Doing, Moment])[];
}

const allWritten = (["creation", "suspension", "password", "removal"] as const).map(
  (doing) => [doing, "written"] as const,
);
// A change or question that is sent to the node locks the node's channel, so it comes last; a placement or a removal locks the
// node's room. Writes that lock nothing of others come first. One statement sends all changes.
const killings: Killing[] = [
  { fate: "undone", held: [...allWritten, ["suspension", "sent"]] },
  { fate: "kept", held: [...allWritten, ["password", "sent"]] },
  {
    fate: "undone",
    held: [
      ["creation", "placed"],
      ["removal", "sent"],
    ],
  },
  {
    fate: "kept",
    held: [
      ["creation", "placed"],
      ["removal", "sent"],
    ],
  },
  { fate: "undone", held: [["creation", "sent"]] },
  { fate: "kept", held: [["creation", "asked"]] },
];

test(
  "abuse 7: a worker that is killed before or after each of its writes has them done by another",
  options,
  async (t) => {
    const rounds = killings.map(({ fate, held }, number) => ({
      fate,
      steps: held.map(([doing, at]): Step => ({ doing, at, identifier: `${doing}-${at}-${number}.example` })),
    }));
    await prepare(rounds.flatMap(({ steps }) => steps));
    let worker = way.system.ready().pids.worker!;
    for (const { fate, steps } of rounds) {
      const hold = await holdAt(t, way.databaseUrl, ...steps.map(heldChange));
      for (const [index, { doing, identifier }] of steps.entries()) {
        await ask(doing, identifier);
        await hold.reached(index + 1);
      }
      process.kill(worker, "SIGKILL");
      await (fate === "undone" ? hold.rollBack() : hold.release());
      await eventually("there is another worker", () => way.system.ready().pids.worker !== worker);
      worker = way.system.ready().pids.worker!;
    }
    await assertAllDone();
  },
);

test("in the end the node has what the gateway knows, and nothing that no account explains", options, async () => {
  assert.deepEqual((await way.operated("node", "reconcile", nodeId)).findings, []);
  await agent.kill();
  await way.machine.reopen();
  assert.deepEqual(await way.machine.node.strays(), { uids: [], withoutHome: [], hostNames: [] });
  await way.machine.node.close();
});

interface Row {
  identifier: string;
  uid: string;
  status: string;
  events: string[];
}

async function assertAllDone(): Promise<void> {
  const sql = `SELECT identifier, uid::text, status, applied_version < wanted_version AS pending FROM hosting_accounts`;
  await eventually("nothing is pending", async () => {
    const rows = await runSql<Row & { pending: boolean }>(way.databaseUrl, sql);
    return rows.every(({ status, pending }) => status !== "Provisioning" && !pending);
  });
  const accounts = await runSql<Row>(
    way.databaseUrl,
    `SELECT identifier, uid::text, status, (SELECT array_agg(event ORDER BY id) FROM hosting_history CROSS JOIN generate_series(1, count)
       WHERE account_id = account.id AND event IN ('probed', 'suspended', 'applied', 'removed')) AS events
     FROM hosting_accounts AS account`,
  );
  const logins = (await readFile(way.machine.paths.logins, "utf8")).split("\n").map((line) => line.split(":"));
  const homes = await readdir(way.machine.paths.homes);
  assert.deepEqual(
    homes.toSorted(),
    accounts
      .filter(({ status }) => status !== "Removed")
      .map(({ uid }) => uid)
      .toSorted(),
  );
  for (const [identifier, doing] of asked) {
    const { event, status } = doings[doing];
    const [row, ...more] = accounts.filter((one) => one.identifier === identifier);
    assert.ok(row !== undefined && more.length === 0, identifier);
    assert.deepEqual([row.status, row.events], [status, [...new Set(["probed", event])]], identifier);
    const uids = logins.filter(([user]) => user === identifier).map(([, , uid]) => uid);
    assert.deepEqual(uids, status === "Ready" ? [row.uid] : [], identifier);
  }
  await Promise.all([...asked].map(([identifier, doing]) => assertServed(identifier, doing)));
}

/** Checks it as its owner and visitors would. */
async function assertServed(identifier: string, doing: Doing): Promise<void> {
  const former = await way.upload(identifier, identifier);
  if (doing === "creation") assert.deepEqual(former, { code: 0, reply: "226 Transfer complete" });
  else assert.match(former.reply, /^530 /, identifier);
  if (doing === "password") assert.equal((await way.upload(identifier, identifier, newPassword)).code, 0);
  const { status } = await way.page(identifier);
  assert.equal(status, { creation: 200, password: 200, suspension: 503, removal: 404 }[doing], identifier);
}
