/**
 * Random sequences of calls about a few names, while workers are killed, answers get lost and frames arrive late. Whatever happens,
 * every order ends, and afterwards the portfolio equals what the registry's `<info>` shows.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import type { CommandFault } from "../../sandbox/registry/faults.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import { differences, type PortfolioEntry } from "../faults/portfolio.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import { startWithWorkers, type WorkerProcess } from "../orders/worker-process.ts";
import { giveNames } from "../renewals/stage.ts";
import { seed } from "./seed.ts";

const stepsPerSequence = 60;
const names = ["first.example", "second.example", "third.example"];
const transformTimeoutMs = 400;
const dayMs = 24 * 60 * 60_000;
const termDaysLeft = 200;

const models: Pick<Settings, "dataModel" | "hostModel">[] = [
  { dataModel: "thick", hostModel: "objects" },
  { dataModel: "thin", hostModel: "objects" },
  { dataModel: "thick", hostModel: "attributes" },
  { dataModel: "thin", hostModel: "attributes" },
];

interface Placed {
  name: string;
  call: string;
  location: string;
}

interface Play {
  gateway: TestGateway;
  reseller: TestReseller;
  random: (limit: number) => number;
  kill: () => Promise<void>;
  placed: Placed[];
  /** What was done, for the reader of a failure. */
  log: string[];
}

const pick = <Item>({ random }: Play, items: readonly Item[]): Item => items[random(items.length)]!;

type Call = [method: string, path: string, body?: object];

/** Calls that the registry carries out, however often it has to be asked. */
const calls: Readonly<Record<string, (play: Play, name: string) => Call>> = {
  lock: (play) => ["PUT", "transfer-lock", { transfer_locked: play.random(2) === 0 }],
  nameservers: (play, name) => {
    const own = ["ns1", "ns2"].map((label) => {
      return { name: `${label}.${name}`, addresses: [`9.9.9.${1 + play.random(3)}`, `2620:fe::${1 + play.random(3)}`] };
    });
    const servers = [...own, { name: "ns1.dns-host.net" }, { name: "ns2.dns-host.net" }];
    return ["PUT", "nameservers", { name_servers: servers.filter(() => play.random(2) === 0) }];
  },
  dnssec: (play) => {
    const records = ["A", "B", "C"].map((digit, index) => {
      return { key_tag: index + 1, algorithm: 13, digest_type: 2, digest: digit.repeat(64) };
    });
    return ["PUT", "dnssec", { ds: records.filter(() => play.random(2) === 0) }];
  },
};

const spoilable = ["domain:update", "domain:info", "host:create", "host:update", "host:info"] as const;
const spoilings: readonly Omit<CommandFault, "command">[] = [
  ...(["drop-before", "drop-after", "garbage", "trid", "short", "late"] as const).map((as) => ({ as, times: 1 })),
  ...[2200, 2304, 2306, 2400, 2502].map((code) => ({ as: "refuse" as const, code, times: 1 })),
  { as: "pending", decision: "approve", times: 1 },
];

/** Each step happens to the sequence as often as it is in this list. */
const steps: readonly ((play: Play) => Promise<void>)[] = [
  ...Array(5).fill(call),
  spoil,
  spoil,
  killWithLateFrame,
  rest,
];

async function call(play: Play): Promise<void> {
  const name = pick(play, names);
  const kind = pick(play, Object.keys(calls));
  await send(play, name, calls[kind]!(play, name));
}

async function send(play: Play, name: string, [method, path, body]: Call): Promise<void> {
  const { gateway, reseller, log, placed } = play;
  const target = `/domains/${name}/${path}`;
  const about = `${method} ${target} ${JSON.stringify(body)}`;
  const reply = await gateway.send(reseller, method, target, body ? { body } : {});
  log.push(`${about}: ${reply.status}`);
  assert.ok([202, 409].includes(reply.status), `${about}: ${reply.status} ${reply.text}`);
  if (reply.status === 202) placed.push({ name, call: about, location: reply.headers.location! });
}

async function spoil(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const effect = pick(play, spoilings);
  const command = effect.as === "pending" || effect.code === 2304 ? "domain:update" : pick(play, spoilable);
  const fault = { ...effect, command };
  registry.setFaults({ commands: [...registry.faults.current.commands, fault] });
  play.log.push(`the next ${command}: ${JSON.stringify(effect)}`);
}

/** The worker dies during a command, which arrives after its death, or never. */
async function killWithLateFrame(play: Play): Promise<void> {
  const { registry } = play.gateway;
  const at = pick(play, ["before-execution", "before-answer"] as const);
  const command = pick(play, ["domain:update", "host:create", "domain:info"]);
  const hold = registry.hold({ command, at, times: 1 });
  for (let count = play.random(4); count >= 0; count--) await call(play);
  for (let looks = play.random(30); looks > 0 && hold.waiting() === 0; looks--) await sleep(10);
  const execute = play.random(2) === 0;
  play.log.push(`kill, ${hold.waiting()} ${command} held ${at}, executed later: ${execute}`);
  await play.kill();
  hold.release({ execute });
}

/** Some orders end before the next step. */
async function rest(play: Play): Promise<void> {
  const last = play.placed.at(-1);
  play.log.push("rest");
  if (last) await play.gateway.settled(play.reseller, last.location);
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
  return { gateway, reseller, random: seededRandom(seed + number), kill, placed: [], log: [] };
}

/** @returns the mistakes */
async function judgeEnds({ gateway, reseller, placed }: Play): Promise<string[]> {
  const faults: string[] = [];
  for (const { call: about, location } of placed) {
    const { status, error_text } = await gateway.settled(reseller, location);
    // A status may forbid the change, and the order says so.
    const isExplained = status === "Errors" && String(error_text).includes("2304");
    if (!["Finished", "Cancelled"].includes(String(status)) && !isExplained) {
      faults.push(`${about}: ${status} ${error_text}`);
    }
  }
  const { store } = gateway.registry;
  for (const name of names) {
    const { body } = await gateway.send(reseller, "GET", `/domains/${name}`);
    const found = differences(store, store.domains.find(name), body as PortfolioEntry);
    faults.push(...found.map((fault) => `${name}: ${fault}`));
  }
  return faults;
}

for (const [index, own] of models.entries()) {
  test(`after any calls, kills and lost answers the portfolio equals the registry (${own.dataModel}, hosts as ${own.hostModel})`, async (t) => {
    const play = await startPlay(t, own, index);
    const expirationDate = new Date(
      Math.floor(play.gateway.context.clock.now().getTime() / 1000) * 1000 + termDaysLeft * dayMs,
    );
    await giveNames(play.gateway, play.reseller, new Map(names.map((name) => [name, { expirationDate }])));
    // Each name is looked at once.
    for (const name of names) await send(play, name, ["PUT", "transfer-lock", { transfer_locked: true }]);
    for (let left = stepsPerSequence; left > 0; left--) await pick(play, steps)(play);
    play.gateway.registry.setFaults({ commands: [] });
    const faults = await judgeEnds(play);
    assert.deepEqual(faults, [], `PROPERTY_SEED=${seed}:\n${play.log.join("\n")}`);
  });
}
