/**
 * Random sequences of calls about a few names, of every kind, while another registrar asks for names, workers are killed, answers get
 * lost and frames arrive late. Whatever happens, every order ends, what costs money is executed once for each order, and afterwards
 * the portfolio equals what the registry's `<info>` shows.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import type { CommandFault } from "../../sandbox/registry/faults.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { registrarId } from "../harness/profiles.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { startWithWorkers, type WorkerProcess } from "../orders/worker-process.ts";
import { giveNames } from "../renewals/stage.ts";
import { type EndedOrder, judgeNames, judgeOrders, type PlayedName } from "./judge-names.ts";
import { type Call, type Caller, requests } from "./name-calls.ts";
import { seed } from "./seed.ts";

const stepsPerSequence = 50;
const namesAtOnce = 3;
const rivalId = "rival";
const transformTimeoutMs = 400;
const dayMs = 24 * 60 * 60_000;
const termDaysLeft = 200;
const liveStatuses = new Set(["NotProvisioned", "Processing", "Pending"]);

const models: Pick<Settings, "dataModel" | "hostModel">[] = [
  { dataModel: "thick", hostModel: "objects" },
  { dataModel: "thin", hostModel: "objects" },
  { dataModel: "thick", hostModel: "attributes" },
  { dataModel: "thin", hostModel: "attributes" },
];

interface Play extends Caller {
  kill: () => Promise<void>;
  /** All names so far; those that another registrar has taken are not played with any more. */
  played: PlayedName[];
  placed: Map<string, Omit<EndedOrder, "status" | "reason">>;
  /** What was done, for the reader of a failure. */
  log: string[];
  faults: string[];
}

const pick = <Item>({ random }: Play, items: readonly Item[]): Item => items[random(items.length)]!;

const isTaken = ({ gateway }: Play, name: string) => gateway.registry.store.domains.find(name)?.clID === rivalId;

const namesOf = (play: Play) => play.played.map(({ name }) => name).filter((name) => !isTaken(play, name));

const spoilable = [
  "domain:info",
  "domain:update",
  "domain:renew",
  "domain:delete",
  "domain:restore-request",
  "domain:restore-report",
  "domain:transfer-approve",
  "domain:transfer-reject",
  "host:create",
  "host:info",
  "host:update",
  "contact:create",
] as const;
const spoilings: readonly Omit<CommandFault, "command">[] = [
  ...(["drop-before", "drop-after", "garbage", "trid", "short", "late"] as const).map((as) => ({ as, times: 1 })),
  ...[2200, 2304, 2306, 2400, 2502].map((code) => ({ as: "refuse" as const, code, times: 1 })),
  { as: "pending", decision: "approve", times: 1 },
];
/** Those that a registry can leave pending, or refuse because of a status. */
const conditional = ["domain:update", "domain:renew"] as const;

/** Each step happens to the sequence as often as it is in this list. */
const steps: readonly ((play: Play) => Promise<void>)[] = [
  ...Array(7).fill(callAny),
  spoil,
  spoil,
  spoil,
  killWithLateFrame,
  transfer,
  rest,
];

async function callAny(play: Play): Promise<void> {
  const name = pick(play, namesOf(play));
  const kind = kindFor(play, name);
  const wanted = await requests[kind]!(play, name);
  // A caller that got no answer asks again, perhaps at the same moment.
  const times = wanted.isPaid ? 1 + play.random(2) : 1;
  await Promise.all(Array.from({ length: times }, () => send(play, kind, name, wanted)));
  if (wanted.isPaid) await judgeLive(play, name);
}

/** A name that is deleted, or that another registrar asks for, gets every other time the call that is for this. */
function kindFor(play: Play, name: string): string {
  const domain = play.gateway.registry.store.domains.find(name);
  const answers = [domain?.deletion && "restore", domain?.transfer?.status === "pending" && "transfer-answer"];
  const fitting = answers.find((kind) => typeof kind === "string");
  return fitting && play.random(2) === 0 ? fitting : pick(play, Object.keys(requests));
}

async function send(play: Play, kind: string, name: string, wanted: Call): Promise<void> {
  const { gateway, reseller, log, placed } = play;
  const { method, target, body, refusals = [] } = wanted;
  const about = `${method} ${target} ${JSON.stringify(body ?? {})}`;
  const reply = await gateway.send(reseller, method, target, body ? { body } : {});
  const location = reply.headers.location ?? "";
  log.push(`${about}: ${reply.status} ${location}`);
  // A name that has left is nobody's.
  assert.ok([202, 404, ...refusals].includes(reply.status), `${about}: ${reply.status} ${reply.text}`);
  if (reply.status !== 202) return;
  const code = location.slice(location.lastIndexOf("/") + 1);
  placed.set(code, { code, kind, name, about, years: (body as { years?: number } | undefined)?.years });
}

/** At most one order of a name that costs money is live. */
async function judgeLive({ gateway, reseller, faults }: Play, name: string): Promise<void> {
  for (const kind of ["renew", "restore"]) {
    const { body } = await gateway.send(reseller, "GET", `/orders?domain_name=${name}&kind=${kind}`);
    const live = (body as { order_code: string; status: string }[]).filter(({ status }) => liveStatuses.has(status));
    if (live.length > 1) faults.push(`${name}: live at once: ${live.map(({ order_code }) => order_code).join(", ")}`);
  }
}

async function spoil(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const effect = pick(play, spoilings);
  const isConditional = effect.as === "pending" || effect.code === 2304;
  const fault = { ...effect, command: pick(play, isConditional ? conditional : spoilable) };
  registry.setFaults({ commands: [...registry.faults.current.commands, fault] });
  play.log.push(`the next ${fault.command}: ${JSON.stringify(effect)}`);
}

/** The worker dies during a command, which arrives after its death, or never. */
async function killWithLateFrame(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const at = pick(play, ["before-execution", "before-answer"] as const);
  const command = pick(play, spoilable);
  const hold = registry.hold({ command, at, times: 1 });
  for (let count = play.random(4); count >= 0; count--) await callAny(play);
  for (let looks = play.random(30); looks > 0 && hold.waiting() === 0; looks--) await sleep(10);
  const execute = play.random(2) === 0;
  play.log.push(`kill, ${hold.waiting()} ${command} held ${at}, executed later: ${execute}`);
  await play.kill();
  hold.release({ execute });
}

/** Another registrar asks for a name, and perhaps thinks better of it, or the registry decides. */
async function transfer(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const name = pick(play, namesOf(play));
  const domain = registry.store.domains.find(name);
  const isPending = domain?.transfer?.status === "pending";
  const isForbidden = domain?.deletion || domain?.statuses.some((status) => /TransferProhibited|^pending/.test(status));
  if (!isPending && (isForbidden || domain?.clID !== registrarId)) return;
  const op = isPending ? pick(play, ["cancel", "server-approve", "server-cancel"] as const) : "request";
  play.log.push(`transfer ${op} of ${name}`);
  await registry.transfer({ name, op, ...(op === "request" && { registrar: rivalId }) });
  if (isTaken(play, name)) await enter(play);
}

/** Some orders end before the next step. */
async function rest(play: Play): Promise<void> {
  const last = [...play.placed.keys()].at(-1);
  play.log.push("rest");
  if (last) await play.gateway.settled(play.reseller, `/orders/${last}`);
  // Our own approvals.
  while (namesOf(play).length < namesAtOnce) await enter(play);
}

/** One more name, which is looked at once. */
async function enter(play: Play): Promise<void> {
  const name = `name-${play.played.length + 1}.example`;
  const now = Math.floor(play.gateway.context.clock.now().getTime() / 1000) * 1000;
  const expirationDate = new Date(now + termDaysLeft * dayMs);
  await giveNames(play.gateway, play.reseller, new Map([[name, { expirationDate }]]));
  play.played.push({ name, exDate: expirationDate.toISOString() });
  const body = { transfer_locked: false };
  await send(play, "transfer-lock", name, { method: "PUT", target: `/domains/${name}/transfer-lock`, body });
}

/** A worker owns the registry, and a second one waits to succeed it. */
async function startCrew(start: () => Promise<WorkerProcess>): Promise<() => Promise<void>> {
  let owner = await start();
  let successor = start();
  return async () => {
    const next = await successor;
    await owner.kill();
    owner = next;
    successor = start();
  };
}

async function startPlay(t: TestContext, own: (typeof models)[number], number: number): Promise<Play> {
  const { gateway, start } = await startWithWorkers(t, {
    models: own,
    sandbox: { pendingDelayMs: 100, lateMs: transformTimeoutMs + 200 },
    profile: {
      transformTimeoutMs,
      queryTimeoutMs: 1_000,
      pollIntervalMs: 50,
      reconcileIntervalMs: 500,
      backoffFirstMs: 50,
      backoffMaxMs: 300,
      circuit: { faultsMax: 1_000_000, probeDelayMsMin: 50, probeDelayMsMax: 100, refusedDelayMs: 100 },
    },
  });
  const kill = await startCrew(start);
  const reseller = await gateway.addReseller();
  const random = seededRandom(seed * models.length + number);
  return { gateway, reseller, random, kill, played: [], placed: new Map(), log: [], faults: [] };
}

/** Waits for the end of every order. @returns how they ended, and the mistakes */
async function judgeEnds(play: Play) {
  const { gateway, reseller, placed, played } = play;
  const { store } = gateway.registry;
  const ended: EndedOrder[] = [];
  for (const order of placed.values()) {
    const { status, error_text } = await gateway.settled(reseller, `/orders/${order.code}`);
    ended.push({ ...order, status: String(status), reason: String(error_text ?? "") });
  }
  await until("every message was read", () =>
    store.messages.values().every(({ registrar }) => registrar !== registrarId),
  );
  const toLookAt = "SELECT FROM domains WHERE look_at < now() + interval '10 s'";
  await until(
    "every name was looked at of which the registry has told something",
    async () => (await runSql(gateway.databaseUrl, toLookAt)).length === 0,
  );
  const orders = judgeOrders(store.journal.entries(), ended);
  const names = await judgeNames({ gateway, reseller, rivalId }, played);
  return { ended, faults: [...play.faults, ...orders, ...names] };
}

/** How many orders ended how. */
function describe(ended: EndedOrder[]): string {
  const ends = Map.groupBy(ended, ({ kind, status }) => `${kind} ${status}`);
  return [...ends.keys()]
    .toSorted()
    .map((end) => `${end} ${ends.get(end)!.length}`)
    .join(", ");
}

for (const [index, own] of models.entries()) {
  test(`after any calls, kills and lost answers the portfolio equals the registry (${own.dataModel}, hosts as ${own.hostModel})`, async (t) => {
    const play = await startPlay(t, own, index);
    for (let count = namesAtOnce; count > 0; count--) await enter(play);
    for (let left = stepsPerSequence; left > 0; left--) await pick(play, steps)(play);
    play.gateway.registry.setFaults({ commands: [] });
    const { ended, faults } = await judgeEnds(play);
    t.diagnostic(`PROPERTY_SEED=${seed}: ${describe(ended)}`);
    assert.deepEqual(faults, [], `PROPERTY_SEED=${seed}:\n${play.log.join("\n")}`);
  });
}
