/**
 * A batch: concurrent orders with many faults. Their workers are killed at one point repeatedly, until each order was there once
 * or has ended. Every order that was at the point is a case.
 */
import { sleep, systemClock } from "#lib/clock.ts";
import { eventually } from "../harness/running-system.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import { type HeldOrders, holdCommits, holdFrames } from "./held-orders.ts";
import { judge } from "./judge.ts";
import { judgeChanges } from "./judge-changes.ts";
import { drawnPoints, type HeldCommit, type KillPoint, sessionsMax } from "./kill-points.ts";
import {
  areAllDone,
  cancel,
  describeUnended,
  gatherChanges,
  gatherEvidence,
  interfere,
  isDone,
  lookMs,
  type OrderState,
  type Orders,
  ownAll,
  placeAll,
  readStates,
  untilAllDone,
} from "./orders.ts";
import { readRowsPassed } from "./rows.ts";
import type { Stage } from "./stage.ts";
import { faultOf, getKillPoint, getSubject } from "./subjects.ts";

export interface Batch {
  /** "claimed.2" or "renew:claimed.2": the kind of orders, the kill point and the round. */
  id: string;
  /** The id of what the batch is about. */
  subject: string;
  seed: number;
  /** The id of a kill point, or of a way to draw the moment. */
  point: string;
  labels: string[];
}

export interface Case {
  id: string;
  subject: string;
  point: string;
  label: string;
  /** Whether its worker was killed while it was at the point. */
  isReached: boolean;
  status: string;
}

export interface BatchResult {
  cases: Case[];
  /** The judge's findings. */
  faults: string[];
  rows: Map<string, number>;
  kills: number;
}

interface Play extends Orders {
  batch: Batch;
  random: (limit: number) => number;
  /** Orders whose worker was killed at the batch's point. */
  reached: Set<string>;
  kills: number;
}

/** Not all orders can be held at once, because some share a statement; and a worker abandons a COMMIT after twelve seconds. */
const commitHeldMs = 1_500;
/** Longer than the takeover of a killed worker's rows, and than the backoff of orders. */
const blockedMsMax = 15_000;
const resellersPerBatch = 5;

const drawnKillsMax = 3;
const framesPerOrder = 4;
const anyChange = {
  table: "order_history",
  on: "INSERT",
  when: "NEW.event <> 'requested'",
  orderColumn: "order_id",
} as const satisfies Partial<HeldCommit>;

/** Plays a batch and judges its orders. @throws Error when orders neither end nor reach the point */
export async function playBatch(stage: Stage, batch: Batch): Promise<BatchResult> {
  const subject = getSubject(batch.subject);
  const play: Play = {
    stage,
    subject,
    batch,
    resellers: [],
    random: seededRandom(batch.seed),
    placed: new Map(),
    reached: new Set(),
    cancelAsked: new Set(),
    owned: new Map(),
    judgedFrom: 0,
    kills: 0,
  };
  const names = batch.labels.map((label, index) => `${label}${nameOf(batch)}-${index}.example`);
  await addResellers(play);
  await ownAll(play, names);
  if (drawnPoints.some(({ id }) => id === batch.point)) await killAtDrawnMoments(play, names);
  else await killAtPoint(play, names, getKillPoint(subject, batch.point));
  const unended = await untilAllDone(play);
  return {
    cases: await report(play, names),
    faults: [...unended, ...(await judgeAll(play))],
    rows: await readRowsPassed(
      stage,
      subject.table,
      [...play.placed.values()].map(({ code }) => code),
    ),
    kills: play.kills,
  };
}

/** Short, because a label of a name has 63 characters at most. The kind is in the fault's label already. */
const nameOf = ({ id }: Batch) => id.slice(id.indexOf(":") + 1).replace(".", "-");

async function judgeAll(play: Play): Promise<string[]> {
  return play.subject.kind ? judgeChanges(await gatherChanges(play)) : judge(await gatherEvidence(play));
}

/** In every other batch the registry has the contacts already: then an order's first command is its create. */
async function addResellers(play: Play): Promise<void> {
  const { stage, batch, resellers } = play;
  // At the points about contacts each order creates one.
  const isAboutContacts = batch.point.startsWith("contact-");
  const wanted = isAboutContacts ? batch.labels.length : Math.min(resellersPerBatch, batch.labels.length);
  while (resellers.length < wanted) resellers.push(await stage.gateway.addReseller());
  if (play.subject.kind || isAboutContacts || play.random(2) === 0) return;
  await placeAll(
    play,
    resellers.map((_, index) => `plain-${nameOf(batch)}-first-${index}.example`),
  );
  await untilAllDone(play);
}

async function killAtPoint(play: Play, names: string[], point: KillPoint): Promise<void> {
  const { gateway, crew } = play.stage;
  const first = point.after === undefined ? undefined : getKillPoint(play.subject, point.after);
  const points = [...(first ? [first] : []), point];
  const holds: HeldOrders[] = [];
  for (const { commit, frame } of points) {
    holds.push(
      commit
        ? await holdCommits(gateway, play.subject.table, commit)
        : holdFrames(gateway, frame!, names, crew.isReady),
    );
  }
  try {
    let isPlaced = false;
    const placing = placeAll(play, names).then(() => {
      isPlaced = true;
    });
    placing.catch(() => {});
    // Otherwise kills happen meanwhile: a held order may prolong a pause that later orders wait for.
    if (point.withWaiting) await placing;
    for (const [index, held] of holds.entries()) {
      const isLast = points[index] === point;
      const place = { point: points[index]!, held, later: holds.slice(index + 1), areAllPlaced: () => isPlaced };
      const reached = await killWhileHeld(play, place, point.isCancelled && !isLast);
      if (isLast) play.reached = reached;
    }
    await placing;
  } finally {
    for (const held of holds) await held.end();
  }
}

interface Place {
  point: KillPoint;
  held: HeldOrders;
  /** The holds of the points after it. */
  later: readonly HeldOrders[];
  areAllPlaced: () => boolean;
}

/** Kills one owner after the other, until no order reaches the point. @returns the orders that did */
async function killWhileHeld(play: Play, place: Place, isCancelled = false): Promise<Set<string>> {
  const { point, held } = place;
  const passed = new Set<string>();
  for (;;) {
    const seen = await gather(play, place, passed);
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

/** Waits until as many orders as possible are at the point. @returns none when each was there, has ended, or cannot reach it */
async function gather(play: Play, place: Place, passed: Set<string>): Promise<string[]> {
  const { point, held, later } = place;
  const heldMsMax = point.frame ? play.stage.frameHeldMsMax : commitHeldMs;
  const startedMs = systemClock.monotonicMs();
  let firstSeenMs: number | undefined;
  let lastMovedMs = startedMs;
  for (;;) {
    const states = await readStates(play);
    const there = (await held.names()).filter((name) => play.placed.has(name) && !passed.has(name));
    const open = states.filter((state) => !isDone(state) && !passed.has(state.name));
    const comingMax = place.areAllPlaced() ? open.length : Number.POSITIVE_INFINITY;
    if (there.length === 0 && comingMax === 0) return [];
    const nowMs = systemClock.monotonicMs();
    // Orders that are held at a later point delay the takeover of a dead worker's rows.
    if (there.length > 0 || !(await isAnyHeld(later))) lastMovedMs = nowMs;
    if (nowMs - lastMovedMs > blockedMsMax) return [];
    // If the kill had to wait, the worker would abandon what is held.
    const canKill = there.length > 0 && play.stage.crew.isReady();
    if (there.length > 0) firstSeenMs ??= nowMs;
    if (canKill && there.length >= Math.min(point.ordersMax, sessionsMax, comingMax)) return there;
    if (firstSeenMs !== undefined && nowMs - firstSeenMs > heldMsMax && canKill) return there;
    if (nowMs - startedMs > play.stage.patienceMs) throw new Error(describeStandstill(play, there, open));
    await sleep(lookMs);
  }
}

async function isAnyHeld(holds: readonly HeldOrders[]): Promise<boolean> {
  const names = await Promise.all(holds.map((hold) => hold.names()));
  return names.flat().length > 0;
}

function describeStandstill({ stage }: Play, there: string[], open: OrderState[]): string {
  const next = stage.crew.isReady() ? "a successor waits" : "no successor waits";
  const orders = open.map((state) => `\n  ${describeUnended(state)}`).join("");
  return `orders make no progress: ${next}; held: ${there.join(", ") || "none"}; open:${orders}`;
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
    await eventually(
      "the moment is reached, or all orders have ended",
      async () => (await moment.isThere()) || (await isOver()),
    );
    if (await moment.isThere()) await killWithOpenOrders(play, moment.letGo);
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

/** The n-th frame that the registry receives, or the n-th change of an order before its commit. */
async function drawMoment({ stage, batch, random, subject: { table } }: Play, nth: number): Promise<Moment> {
  if (batch.point === "random-frame") {
    let isThere = false;
    const forget = stage.onFrame(nth, () => {
      isThere = true;
      void stage.crew.owner().then((owner) => owner.freeze());
    });
    return { isThere: () => isThere, letGo: async () => {}, end: async () => forget() };
  }
  const change = { ...anyChange, isCommitted: random(2) === 0 };
  const held = await holdCommits(stage.gateway, table, change, nth);
  return {
    isThere: async () => (await held.names()).length > 0,
    letGo: async () => held.letGo(await held.names()),
    end: held.end,
  };
}

/**
 * Every open order is a case. Some are cancelled at that moment, and sometimes the registry is down.
 */
async function killWithOpenOrders(play: Play, letGo: () => Promise<void>): Promise<void> {
  const open = (await readStates(play)).filter((state) => !isDone(state)).map(({ name }) => name);
  const cancelled = open.filter(() => play.random(8) === 0);
  await kill(play, play.random(3) === 0, async () => {
    for (const name of open) play.reached.add(name);
    await interfere(play, open);
    // A cancellation may have to wait for the held commit.
    await Promise.all([cancel(play, cancelled), letGo()]);
  });
}

/**
 * Kills the owner.
 * @param isAway stops the registry until the next owner has noticed
 * @param work runs once the next owner owns the registry
 */
async function kill(play: Play, isAway: boolean, work: () => Promise<void>): Promise<void> {
  const { stage } = play;
  const { crew, gateway } = stage;
  play.kills += 1;
  const missed = async () => {
    const sql = "SELECT FROM order_history WHERE event IN ('unreachable', 'look-lost', 'not-executed')";
    return (await stage.query(sql)).length;
  };
  const before = await missed();
  if (isAway) {
    (await crew.owner()).freeze();
    gateway.registry.pause();
  }
  await crew.killOwner();
  await work();
  if (!isAway) return;
  await eventually(
    "the owner notices that the registry is down",
    async () => (await missed()) > before || (await areAllDone(play)),
  );
  gateway.registry.resume();
}

async function report(play: Play, names: string[]): Promise<Case[]> {
  const states = new Map((await readStates(play)).map((state) => [state.name, state] as const));
  return names.map((name) => {
    const { label } = faultOf(name);
    const { status = "missing" } = states.get(name) ?? {};
    const isReached = play.reached.has(name);
    const { id, subject, point } = play.batch;
    return { id: `${id}/${label}`, subject, point, label, isReached, status };
  });
}
