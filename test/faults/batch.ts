/**
 * A batch: orders of many faults at once, whose workers are killed at one point again and again until each order has been
 * there once, or has ended. Every order that was there is a case.
 */
import assert from "node:assert/strict";
import { cancelOrder } from "#domains/cancel.ts";
import { isFinal } from "#domains/states.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { registrarId } from "../harness/profiles.ts";
import { eventually } from "../harness/running-system.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import { runSql } from "../harness/sql.ts";
import { type HeldOrders, holdCommits, holdFrames } from "./held-orders.ts";
import { byHandAuthInfo, judge, type Told } from "./judge.ts";
import { drawnPoints, getKillPoint, type HeldCommit, type KillPoint, sessionsMax } from "./kill-points.ts";
import { byHandLabel, faultOf, snipedLabel } from "./labels.ts";
import { readRowsPassed } from "./rows.ts";
import type { Stage } from "./stage.ts";

export interface Batch {
  /** "claimed.2": the kill point and the round. */
  id: string;
  seed: number;
  /** A kill point's id, or how the moment is drawn. */
  point: string;
  labels: string[];
}

export interface Case {
  id: string;
  point: string;
  label: string;
  /** Whether its worker was killed while it was at the point. */
  isReached: boolean;
  status: string;
}

export interface BatchResult {
  cases: Case[];
  /** Sentences of the judge. */
  faults: string[];
  rows: Map<string, number>;
  kills: number;
}

interface PlacedOrder {
  name: string;
  reseller: TestReseller;
  location: string;
  code: string;
}

interface OrderState {
  name: string;
  status: string;
  /** Only a person can say more. */
  isForPerson: boolean;
  /** A cancellation is wished, and the registry has not said whether it lets the name go. */
  isCancelling: boolean;
}

interface Play {
  stage: Stage;
  batch: Batch;
  random: (limit: number) => number;
  orders: Map<string, PlacedOrder>;
  reached: Set<string>;
  cancelAsked: Set<string>;
  kills: number;
}

/** PostgreSQL cancels a COMMIT that is held for ten seconds. */
const commitHeldMs = 4_000;
const lookMs = 20;
const placedAtOnce = 6;
const resellersPerBatch = 5;
const patienceMs = 60_000;

const drawnKillsMax = 3;
const framesPerOrder = 4;
const anyChange: Omit<HeldCommit, "isCommitted"> = {
  table: "order_history",
  on: "INSERT",
  when: "NEW.event <> 'requested'",
  orderColumn: "order_id",
};

/** Plays a batch and judges its orders. @throws when orders neither end nor come to the point */
export async function playBatch(stage: Stage, batch: Batch): Promise<BatchResult> {
  const play: Play = {
    stage,
    batch,
    random: seededRandom(batch.seed),
    orders: new Map(),
    reached: new Set(),
    cancelAsked: new Set(),
    kills: 0,
  };
  const names = batch.labels.map((label, index) => `${label}${batch.id.replace(".", "-")}-${index}.example`);
  if (drawnPoints.some(({ id }) => id === batch.point)) await killAtDrawnMoments(play, names);
  else await killAtPoint(play, names, getKillPoint(batch.point));
  const unended = await untilAllDone(play);
  return {
    cases: await report(play),
    faults: [...unended, ...judge(await gatherEvidence(play))],
    rows: await readRowsPassed(stage.gateway.databaseUrl, names),
    kills: play.kills,
  };
}

async function killAtPoint(play: Play, names: string[], point: KillPoint): Promise<void> {
  const { gateway } = play.stage;
  const first = point.after === undefined ? undefined : getKillPoint(point.after);
  const points = [...(first ? [first] : []), point];
  const holds: HeldOrders[] = [];
  for (const { commit, frame } of points) {
    holds.push(commit ? await holdCommits(gateway, commit) : holdFrames(gateway, frame!, names));
  }
  try {
    await placeAll(play, names);
    for (const [index, held] of holds.entries()) {
      const isLast = points[index] === point;
      const reached = await killWhileHeld(play, points[index]!, held, point.isCancelled && !isLast);
      if (isLast) play.reached = reached;
    }
  } finally {
    for (const held of holds) await held.end();
  }
}

/** Kills one owner after the other, until no order comes to the point any more. Returns those that were there. */
async function killWhileHeld(
  play: Play,
  point: KillPoint,
  held: HeldOrders,
  isCancelled = false,
): Promise<Set<string>> {
  const passed = new Set<string>();
  for (;;) {
    const seen = await gather(play, point, held, passed);
    if (seen.length === 0) return passed;
    const owner = await play.stage.crew.owner();
    if (point.commit?.isFrozenFirst) owner.freeze();
    await held.beforeKill(seen);
    let there: string[] = [];
    await kill(play, point.isAway ?? false, async () => {
      there = await held.caught(seen);
      for (const name of there) passed.add(name);
      await interfere(play, there);
      if (isCancelled) await cancel(play, there);
      await held.letGo(there);
    });
    if (!point.withWaiting) continue;
    for (const { name, status } of await readStates(play)) if (status === "NotProvisioned") passed.add(name);
    return passed;
  }
}

/** Waits until as many orders as can be are at the point together. None: each has been there, or has ended. */
async function gather(play: Play, point: KillPoint, held: HeldOrders, passed: Set<string>): Promise<string[]> {
  const heldMsMax = point.frame ? play.stage.frameHeldMsMax : commitHeldMs;
  const startedMs = systemClock.monotonicMs();
  let firstSeenMs: number | undefined;
  for (;;) {
    const states = await readStates(play);
    const there = (await held.names()).filter((name) => play.orders.has(name) && !passed.has(name));
    const open = states.filter((state) => !isDone(state) && !passed.has(state.name));
    if (there.length === 0 && open.length === 0) return [];
    const nowMs = systemClock.monotonicMs();
    if (there.length > 0) firstSeenMs ??= nowMs;
    if (there.length > 0 && there.length >= Math.min(point.ordersMax, sessionsMax, open.length)) return there;
    if (firstSeenMs !== undefined && nowMs - firstSeenMs > heldMsMax && there.length > 0) return there;
    if (nowMs - startedMs > patienceMs) throw new Error(`orders do not come on: ${JSON.stringify(open)}`);
    await sleep(lookMs);
  }
}

async function killAtDrawnMoments(play: Play, names: string[]): Promise<void> {
  let isPlaced = false;
  const begin = () =>
    placeAll(play, names).then(() => {
      isPlaced = true;
    });
  const isOver = async () => isPlaced && (await areAllDone(play));
  let placing: Promise<void> | undefined;
  for (let left = 1 + play.random(drawnKillsMax); left > 0; left--) {
    const moment = await drawMoment(play, 1 + play.random(names.length * framesPerOrder));
    placing ??= begin();
    await eventually("the moment has come, or all is over", async () => (await moment.isThere()) || (await isOver()));
    if (await moment.isThere()) await killWhoeverIsOpen(play, moment.letGo);
    await moment.end();
  }
  await placing;
}

interface Moment {
  isThere(): boolean | Promise<boolean>;
  /** After the kill. */
  letGo(): Promise<void>;
  end(): Promise<void>;
}

/** The n-th frame that the registry gets, or the n-th change of an order that is about to be committed. */
async function drawMoment({ stage, batch, random }: Play, nth: number): Promise<Moment> {
  if (batch.point === "random-frame") {
    let isThere = false;
    const forget = stage.onFrame(nth, () => {
      isThere = true;
      void stage.crew.owner().then((owner) => owner.freeze());
    });
    return { isThere: () => isThere, letGo: async () => {}, end: async () => forget() };
  }
  const held = await holdCommits(stage.gateway, { ...anyChange, isCommitted: random(2) === 0 }, nth);
  return {
    isThere: async () => (await held.names()).length > 0,
    letGo: async () => held.letGo(await held.names()),
    end: held.end,
  };
}

/**
 * Every order that had not ended is a case; some are cancelled at that moment, and sometimes the registry goes away.
 */
async function killWhoeverIsOpen(play: Play, letGo: () => Promise<void>): Promise<void> {
  const open = (await readStates(play)).filter((state) => !isDone(state)).map(({ name }) => name);
  const cancelled = open.filter(() => play.random(8) === 0);
  await kill(play, play.random(3) === 0, async () => {
    for (const name of open) play.reached.add(name);
    await interfere(play, open);
    // A cancellation may have to wait for the commit that is held.
    await Promise.all([cancel(play, cancelled), letGo()]);
  });
}

/**
 * Kills the owner.
 * @param isAway takes the registry away until the next owner has missed it
 * @param work what happens once that one owns the registry
 */
async function kill(play: Play, isAway: boolean, work: () => Promise<void>): Promise<void> {
  const { crew, gateway } = play.stage;
  play.kills += 1;
  const missed = async () => {
    const sql = "SELECT FROM order_history WHERE event IN ('unreachable', 'verify-lost', 'check-lost')";
    return (await runSql(gateway.databaseUrl, sql)).length;
  };
  const before = await missed();
  if (isAway) {
    (await crew.owner()).freeze();
    gateway.registry.pause();
  }
  await crew.killOwner();
  await work();
  if (!isAway) return;
  await eventually("the registry is missed", async () => (await missed()) > before || (await areAllDone(play)));
  gateway.registry.resume();
}

async function cancel({ stage, orders, cancelAsked }: Play, names: string[]): Promise<void> {
  for (const name of names) {
    cancelAsked.add(name);
    await cancelOrder(stage.gateway.context, orders.get(name)!.code);
  }
}

/** What others do with the names of these orders while nobody looks. */
async function interfere({ stage }: Play, names: string[]): Promise<void> {
  const { registry } = stage.gateway;
  for (const name of names) {
    if (registry.store.domains.find(name)) continue;
    const { label } = faultOf(name);
    if (label.endsWith(snipedLabel)) await registry.seed([name]);
    if (label !== byHandLabel) continue;
    await registry.seed([name]);
    const seeded = registry.store.domains.find(name);
    assert.ok(seeded);
    registry.store.domains.put({ ...seeded, clID: registrarId, crID: registrarId, authInfo: byHandAuthInfo });
  }
}

async function placeAll(play: Play, names: string[]): Promise<void> {
  const { gateway } = play.stage;
  // A contact is made with the first order of a reseller: at the points about contacts each order has one of its own.
  const resellersMax = play.batch.point.startsWith("contact-") ? names.length : resellersPerBatch;
  const resellers: TestReseller[] = [];
  while (resellers.length < Math.min(resellersMax, names.length)) resellers.push(await gateway.addReseller());
  const waiting = names.entries();
  const place = async () => {
    for (const [index, name] of waiting) {
      const reseller = resellers[index % resellers.length]!;
      const location = await placeOrder(play, reseller, name);
      const code = location.slice(location.lastIndexOf("/") + 1);
      play.orders.set(name, { name, reseller, location, code });
    }
  };
  await Promise.all(Array.from({ length: placedAtOnce }, place));
}

/** A reseller asks again while creates are paused, between two owners, and when no answer came about the name. */
async function placeOrder({ stage }: Play, reseller: TestReseller, name: string): Promise<string> {
  for (;;) {
    const reply = await stage.gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name } });
    if (reply.status === 202) return reply.headers.location ?? "";
    const isPassing = reply.status === 503 || reply.text.includes("domain_availability_lookuperror");
    assert.ok(isPassing, `${name}: ${reply.status} ${reply.text}`);
    await sleep(lookMs);
  }
}

async function readStates({ stage, orders }: Play): Promise<OrderState[]> {
  return runSql<{ name: string; status: string; isForPerson: boolean; isCancelling: boolean }>(
    stage.gateway.databaseUrl,
    `SELECT domain_name AS name, status, operator_note IS NOT NULL AND phase IN ('verify', 'cancel') AS "isForPerson",
       cancel_requested_at IS NOT NULL AND NOT EXISTS (SELECT FROM order_attempts
         WHERE order_id = o.id AND command = 'domain:delete' AND answered_at IS NOT NULL) AS "isCancelling"
     FROM registration_orders AS o WHERE domain_name = ANY($1)`,
    [[...orders.keys()]],
  );
}

function isDone({ name, status, isForPerson, isCancelling }: OrderState): boolean {
  const { ends } = faultOf(name);
  return (
    isFinal(status) ||
    (status === "Pending" && ends.includes("Pending") && !isCancelling) ||
    (isForPerson && ends.includes("for a person"))
  );
}

async function areAllDone(play: Play): Promise<boolean> {
  return (await readStates(play)).every(isDone);
}

/**
 * Until every order has ended, the registry has done with their names what it was going to do, and its messages are
 * acknowledged.
 * @returns what has not come to an end after a long time
 */
async function untilAllDone(play: Play): Promise<string[]> {
  const { store } = play.stage.gateway.registry;
  const unended = async () => [
    ...(await readStates(play)).filter((state) => !isDone(state)).map(({ name, status }) => `${name}: still ${status}`),
    ...[...play.orders.keys()].filter((name) => {
      const action = store.domains.find(name)?.scheduled?.action;
      return action !== undefined && action !== "never";
    }),
    ...store.messages.values().map(({ id, name }) => `${name}: its message ${id} is not acknowledged`),
  ];
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const left = await unended();
    if (left.length === 0 || systemClock.monotonicMs() - startedMs > patienceMs) return left;
    await sleep(lookMs);
  }
}

async function gatherEvidence(play: Play) {
  const { gateway } = play.stage;
  const { store } = gateway.registry;
  const told: Told[] = [];
  for (const { name, reseller, location, code } of play.orders.values()) {
    const order = (await gateway.send(reseller, "GET", location)).body as { status: string };
    const owned = (await gateway.send(reseller, "GET", `/domains/${name}`)).body as { expiration_date?: string };
    const isCancelAsked = play.cancelAsked.has(name);
    told.push({ name, orderCode: code, status: order.status, expirationDate: owned.expiration_date, isCancelAsked });
  }
  const suffix = `${play.batch.id.replace(".", "-")}-`;
  return {
    journal: store.journal.entries(),
    domains: store.domains.values().filter(({ name }) => name.includes(suffix)),
    told,
  };
}

async function report(play: Play): Promise<Case[]> {
  const states = new Map((await readStates(play)).map((state) => [state.name, state] as const));
  return [...play.orders.keys()].map((name) => {
    const { label } = faultOf(name);
    const { status = "missing" } = states.get(name) ?? {};
    const isReached = play.reached.has(name);
    return { id: `${play.batch.id}/${label}`, point: play.batch.point, label, isReached, status };
  });
}
