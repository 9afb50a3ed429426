/**
 * Random calls of every kind by several resellers, while another registrar asks for names, workers are killed, links are cut, commands
 * are refused, and answers get lost or come late. Whatever happens, every order ends, what costs money is executed once for each
 * order, and afterwards portfolio, ledger, histories and events agree with what the registry has.
 */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import type { CommandFault } from "../../../sandbox/registry/faults.ts";
import type { Settings } from "../../../sandbox/registry/settings.ts";
import type { Scope } from "../../harness/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../../harness/database-proxy.ts";
import type { TestGateway, TestReseller } from "../../harness/gateway.ts";
import { registrarId } from "../../harness/profiles.ts";
import { seededRandom } from "../../harness/seeded-random.ts";
import { startTcpRelay, type TcpRelay } from "../../harness/tcp-relay.ts";
import { startWithWorkers } from "../../orders/worker-process.ts";
import { giveNames } from "../../renewals/stage.ts";
import { type Crew, startCrew } from "../crew.ts";
import type { Stage } from "../stage.ts";
import { type Call, type Caller, requests } from "./calls.ts";
import type { EndedOrder, PlayedName } from "./judge-names.ts";
import { startWitness, type Witness } from "./witnesses.ts";

export const rivalId = "rival";
/** Below it are hosts that names use whose own name was deleted. */
export const sacrificialSuffix = "sacrificial.invalid";
const resellersCount = 3;
const namesAtOnce = 3;
const transformTimeoutMs = 400;
const dayMs = 24 * 60 * 60_000;
const termDaysLeft = 200;
const paidOrdersMax = 1_000_000;

export type Models = Pick<Settings, "dataModel" | "hostModel">;
export const models: readonly Models[] = [
  { dataModel: "thick", hostModel: "objects" },
  { dataModel: "thin", hostModel: "objects" },
  { dataModel: "thick", hostModel: "attributes" },
  { dataModel: "thin", hostModel: "attributes" },
];

/** A reseller, with its own names. */
export interface Actor extends Caller {
  /** All names so far; those that another registrar has taken are not played with any more. */
  played: PlayedName[];
  witness: Witness;
}

export interface Play {
  gateway: TestGateway;
  actors: Actor[];
  crew: Crew;
  database: DatabaseProxy;
  registryLink: TcpRelay;
  query: Stage["query"];
  random: (limit: number) => number;
  /** The registry has no contacts. */
  isThin: boolean;
  placed: Map<string, Omit<EndedOrder, "status" | "reason">>;
  counts: { calls: number; kills: number; cuts: number; faults: number };
  /** What was done, for the reader of a failure. */
  log: string[];
  faults: string[];
}

interface Random {
  random: (limit: number) => number;
}

const pick = <Item>({ random }: Random, items: readonly Item[]): Item => items[random(items.length)]!;

const isTaken = ({ gateway }: Pick<Play, "gateway">, name: string) =>
  gateway.registry.store.domains.find(name)?.clID === rivalId;

const namesOf = (actor: Actor) => actor.played.map(({ name }) => name).filter((name) => !isTaken(actor, name));

const spoilable = [
  ...["info", "update", "renew", "delete", "restore-request", "restore-report"].map((verb) => `domain:${verb}`),
  ...[
    "domain:update",
    "domain:update",
    "domain:update",
    "domain:update",
    "domain:transfer-approve",
    "domain:transfer-reject",
  ],
  ...["host:create", "host:info", "host:update", "contact:create"],
] as CommandFault["command"][];
const spoilings: readonly Omit<CommandFault, "command">[] = [
  ...(["drop-before", "drop-after", "garbage", "trid", "short", "late"] as const).map((as) => ({ as, times: 1 })),
  ...[2002, 2002, 2002, 2002, 2200, 2304, 2306, 2400, 2400, 2502].map((code) => ({
    as: "refuse" as const,
    code,
    times: 1,
  })),
  { as: "pending", decision: "approve", times: 1 },
];
/** Those that a registry can leave pending, or refuse because of a status. */
const conditional = ["domain:update", "domain:renew"] as const;

/** Names use hosts of each other: most of what can go wrong with them needs several orders. */
/** Orders of these kinds set a value, and the last one counts. */
const kindsOfValues = ["transfer-lock", "nameservers", "dnssec", "contacts"];
const kindsDrawn = [...Object.keys(requests), "nameservers", "nameservers", "nameservers"];

/** Each step happens as often as it is in this list. */
const steps: readonly ((play: Play, actor: Actor) => Promise<void>)[] = [
  ...Array(5).fill(callAny),
  (play, actor) => contend(play, actor, pick(actor, namesOf(actor))),
  transfer,
  rest,
  rest,
];
const disturbances: readonly ((play: Play) => Promise<void>)[] = [
  ...Array(24).fill(spoil),
  killWithLateFrame,
  killWithLateFrame,
  cutDatabase,
  cutRegistry,
  cutStreams,
];

/** Plays until the time is over. @param isQuiet nothing goes wrong */
export async function playFor(play: Play, seconds: number): Promise<void> {
  const untilMs = performance.now() + seconds * 1_000;
  const isOver = () => performance.now() > untilMs;
  const act = async (actor: Actor) => {
    while (!isOver()) await pick(actor, steps)(play, actor);
  };
  const disturb = async () => {
    while (!isOver()) {
      await pick(play, disturbances)(play);
      await sleep(20 + play.random(150));
    }
  };
  await Promise.all([...play.actors.map(act), disturb()]);
  // What an older order overwrites now, no later one hides.
  await Promise.all(play.actors.flatMap((actor) => namesOf(actor).map((name) => contend(play, actor, name))));
  play.gateway.registry.setFaults({ commands: [] });
}

async function callAny(play: Play, actor: Actor): Promise<void> {
  const name = pick(actor, namesOf(actor));
  const kind = kindFor(actor, name);
  // Another value soon after: the first order may be in progress, refused or lost.
  for (let left = actor.random(2) + 1; left > 0; left--) {
    const wanted = await requests[kind]!(actor, name);
    // A caller that got no answer asks again, perhaps at the same moment.
    const times = wanted.isPaid ? 1 + actor.random(2) : 1;
    await Promise.all(Array.from({ length: times }, () => send(play, actor, { kind, name, wanted })));
    if (wanted.isPaid) return;
    await sleep(actor.random(200));
  }
}

/** A name that is deleted, or that another registrar asks for, gets every other time the call that is for this. */
function kindFor({ gateway, random }: Actor, name: string): string {
  const domain = gateway.registry.store.domains.find(name);
  const answers = [domain?.deletion && "restore", domain?.transfer?.status === "pending" && "transfer-answer"];
  const fitting = answers.find((kind) => typeof kind === "string");
  return fitting && random(2) === 0 ? fitting : pick({ random }, kindsDrawn);
}

async function send(
  play: Play,
  { gateway, reseller }: Actor,
  { kind, name, wanted }: { kind: string; name: string; wanted: Call },
): Promise<void> {
  const { method, target, body, refusals = [] } = wanted;
  const about = `${method} ${target} ${JSON.stringify(body ?? {})}`;
  const reply = await gateway.send(reseller, method, target, body ? { body } : {});
  const location = reply.headers.location ?? "";
  play.counts.calls += 1;
  play.log.push(`${about}: ${reply.status} ${location}`);
  // A name that has left is nobody's.
  if (![202, 404, ...refusals].includes(reply.status)) play.faults.push(`${about}: ${reply.status} ${reply.text}`);
  if (reply.status !== 202) return;
  const code = location.slice(location.lastIndexOf("/") + 1);
  const { years } = (body ?? {}) as { years?: number };
  play.placed.set(code, { code, kind, name, about, years, body, reseller });
}

/** Two values of one kind: the older order is refused for now, or not known to be executed, and the newer one may pass it. */
async function contend(play: Play, actor: Actor, name: string): Promise<void> {
  const { faults } = play.gateway.registry;
  const kind = pick(actor, kindsOfValues);
  const draw = async () => ({ kind, name, wanted: await requests[kind]!(actor, name) });
  const older = await draw();
  let newer = await draw();
  while (JSON.stringify(newer) === JSON.stringify(older)) newer = await draw();
  const code = pick(actor, [2002, 2400]);
  const fault: CommandFault = { command: "domain:update", name, as: "refuse", code, times: 1 };
  faults.set({ commands: [fault, ...faults.current.commands] });
  play.counts.faults += 1;
  play.log.push(`the next domain:update of ${name}: ${code}`);
  await send(play, actor, older);
  const isLeft = () => faults.current.commands.some((left) => left.name === name);
  for (let looks = 50; looks > 0 && isLeft(); looks--) await sleep(20);
  await send(play, actor, newer);
}

async function spoil(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const effect = pick(play, spoilings);
  const isConditional = effect.as === "pending" || effect.code === 2304;
  const fault = { ...effect, command: pick(play, isConditional ? conditional : spoilable) };
  registry.setFaults({ commands: [...registry.faults.current.commands.slice(-5), fault] });
  play.counts.faults += 1;
  play.log.push(`the next ${fault.command}: ${JSON.stringify(effect)}`);
}

/** The owner dies during a command, which arrives after its death, or never. */
async function killWithLateFrame(play: Play): Promise<void> {
  const { registry } = play.gateway;
  if (!play.crew.isReady()) return;
  const at = pick(play, ["before-execution", "before-answer"] as const);
  const command = pick(play, spoilable);
  const hold = registry.hold({ command, at, times: 1 });
  for (let looks = play.random(30); looks > 0 && hold.waiting() === 0; looks--) await sleep(10);
  const execute = play.random(2) === 0;
  play.log.push(`kill, ${hold.waiting()} ${command} held ${at}, executed later: ${execute}`);
  await play.crew.killOwner();
  play.counts.kills += 1;
  hold.release({ execute });
}

async function cutDatabase(play: Play): Promise<void> {
  play.log.push("the workers lose the database for a moment");
  play.database.cut();
  await sleep(play.random(300));
  play.database.restore();
  play.counts.cuts += 1;
}

async function cutRegistry(play: Play): Promise<void> {
  play.log.push("the workers lose the registry for a moment");
  play.registryLink.cut();
  await sleep(play.random(500));
  play.registryLink.join();
  play.counts.cuts += 1;
}

async function cutStreams(play: Play): Promise<void> {
  for (const { witness } of play.actors) witness.cutStream();
  play.counts.cuts += play.actors.length;
}

/** Another registrar asks for a name, and perhaps thinks better of it, or the registry decides. */
async function transfer(play: Play, actor: Actor): Promise<void> {
  const { registry } = play.gateway;
  const name = pick(actor, namesOf(actor));
  const domain = registry.store.domains.find(name);
  const isPending = domain?.transfer?.status === "pending";
  const isForbidden = domain?.deletion || domain?.statuses.some((status) => /TransferProhibited|^pending/.test(status));
  if (!isPending && (isForbidden || domain?.clID !== registrarId)) return;
  const op = isPending ? pick(actor, ["cancel", "server-approve", "server-cancel"] as const) : "request";
  play.log.push(`transfer ${op} of ${name}`);
  await registry.transfer({ name, op, ...(op === "request" && { registrar: rivalId }) });
  if (isTaken(actor, name)) await enter(play, actor);
}

/** Some orders end before the next step. */
async function rest(play: Play, actor: Actor): Promise<void> {
  const last = [...play.placed.values()].filter(({ reseller }) => reseller === actor.reseller).at(-1);
  const wait = { headers: { prefer: "wait=5" } };
  if (last) await actor.gateway.send(actor.reseller, "GET", `/orders/${last.code}`, wait);
  // Our own approvals.
  while (namesOf(actor).length < namesAtOnce) await enter(play, actor);
}

/** One more name: given, and looked at once by an order, or registered, and locked by the service. */
async function enter(play: Play, actor: Actor): Promise<void> {
  const { gateway, reseller } = actor;
  const name = `name-${reseller.id}-${actor.played.length + 1}.example`;
  if (actor.random(2) === 0) return register(play, actor, name);
  const now = Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000;
  const expirationDate = new Date(now + termDaysLeft * dayMs);
  await giveNames(gateway, reseller, new Map([[name, { expirationDate }]]));
  actor.played.push({ name, exDate: expirationDate.toISOString() });
  const wanted = await requests["transfer-lock"]!(actor, name);
  await send(play, actor, { kind: "transfer-lock", name, wanted });
}

async function register(play: Play, actor: Actor, name: string): Promise<void> {
  const { gateway, reseller } = actor;
  const body = { domain_name: name };
  // Without an owner nothing says whether the name is available.
  const wanted: Call = { method: "POST", target: "/domains/registrations", body, refusals: [400] };
  await send(play, actor, { kind: "create", name, wanted });
  const placed = [...play.placed.values()].find((order) => order.kind === "create" && order.name === name);
  // The api asks the owner whether the name is available, and there may be none at the moment.
  if (!placed) return;
  await gateway.settled(reseller, `/orders/${placed.code}`);
  const domain = gateway.registry.store.domains.find(name);
  if (!domain) return;
  actor.played.push({ name, exDate: domain.exDate });
  const code = placed.code.replace("REG", "CHG");
  const asked = { transfer_locked: true };
  play.placed.set(code, { code, kind: "transfer-lock", name, about: `the lock of ${name}`, body: asked, reseller });
}

/** Everything ends with the scope. */
export async function startPlay(
  scope: Scope,
  { seed, own, nodeArguments = [] }: { seed: number; own: Models; nodeArguments?: string[] },
): Promise<Play> {
  const workers = await startWithWorkers(scope, {
    nodeArguments,
    models: own,
    sandbox: {
      pendingDelayMs: 100,
      lateMs: transformTimeoutMs + 200,
      journalFramesMax: 1_000_000,
      sessionsMax: 1_000,
      graceDays: { add: 0, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 },
    },
    profile: {
      lockNewNames: true,
      ...(own.hostModel === "objects" && { sacrificialSuffix }),
      transformTimeoutMs,
      queryTimeoutMs: 1_000,
      pollIntervalMs: 50,
      reconcileIntervalMs: 500,
      // Longer than an order takes, so that a newer one passes an order that was refused for now.
      backoffFirstMs: 1_000,
      backoffMaxMs: 2_000,
      circuit: { faultsMax: 1_000_000, probeDelayMsMin: 50, probeDelayMsMax: 100, refusedDelayMs: 100 },
    },
  });
  const { gateway } = workers;
  const pool = new Pool({ connectionString: gateway.databaseUrl, max: 2 });
  pool.on("error", () => {});
  scope.after(() => pool.end());
  const query: Play["query"] = async (sql, values) => (await pool.query(sql, values)).rows;
  const database = await startDatabaseProxy(gateway.databaseUrl);
  scope.after(() => database.close());
  const target = { host: "127.0.0.1", port: gateway.registry.port };
  const registryLink = await startTcpRelay({
    target: () => target,
    carry: (client, upstream) => void client.pipe(upstream).pipe(client),
  });
  scope.after(() => registryLink.close());
  const start = () => workers.start({ databaseUrl: database.url, profile: { port: registryLink.port } });
  const crew = await startCrew({ gateway, start }, query, 1);
  scope.after(() => crew.close());
  const faults: string[] = [];
  const counts = { calls: 0, kills: 0, cuts: 0, faults: 0 };
  const random = seededRandom(seed);
  const play: Play = {
    gateway,
    actors: [],
    crew,
    database,
    registryLink,
    query,
    random,
    isThin: own.dataModel === "thin",
    placed: new Map(),
    counts,
    log: [],
    faults,
  };
  for (let index = 0; index < resellersCount; index++) await addActor(scope, play, seed + index + 1);
  return play;
}

async function addActor(scope: Scope, play: Play, seed: number): Promise<void> {
  const { gateway } = play;
  const reseller: TestReseller = await gateway.addReseller();
  await play.query("UPDATE resellers SET paid_orders_day_max = $2 WHERE id = $1", [reseller.id, paidOrdersMax]);
  const othersThan = (name: string) => play.actors.flatMap(namesOf).filter((other) => other !== name);
  const witness = await startWitness(scope, gateway, reseller);
  const actor: Actor = { gateway, reseller, random: seededRandom(seed), othersThan, played: [], witness };
  play.actors.push(actor);
  while (actor.played.length < namesAtOnce) await enter(play, actor);
  assert.ok(play.actors.length <= resellersCount);
}
