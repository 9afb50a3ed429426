/**
 * Rows 15 to 19 and 21: `<info>` decides what a lost answer hid, and what became of a pending create whose message
 * never came.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import {
  authInfoRow,
  countAbsences,
  type Order,
  type OrderHappening,
  postpone,
  type Registered,
  readCreateAttempts,
} from "#domains/orders.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry-sessions.ts";
import { type DomainInfo, domainInfo } from "#registry/epp/commands/domain-info.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** Creates that one order may send; after that an operator decides. */
const createAttemptsMax = 5;
/** How much earlier than our first attempt a registry's clock may date our own object. */
const clockSkewMs = 5 * 60_000;
/** When nobody could be asked for this long, an operator should know. */
const unansweredAlarmMs = 24 * 60 * 60_000;

const otherHolder = statement(
  "name-held-by-own-other",
  `SELECT EXISTS (SELECT FROM domains WHERE domain_name = $1)
       OR EXISTS (SELECT FROM registration_orders WHERE domain_name = $1 AND id <> $2 AND status = 'Finished') AS is_held`,
  { is_held: "bool" },
);

/** An order that cannot be settled by asking. */
const unknown = "unknown";

/** Asks about the order's name; "unknown" when there was no answer to build on. */
async function askInfo(sessions: RegistrySessions, order: Order): Promise<EppResponse<DomainInfo> | typeof unknown> {
  try {
    using lease = await sessions.pool.acquire("check", { waitMs: sessionWaitMs });
    const command = domainInfo(order.domain_name);
    return await lease.request(command, { clTRID: sessions.queryClTrid() });
  } catch {
    return unknown;
  }
}

export async function verifyCreate(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context, profile } = sessions;
  const answer = await askInfo(sessions, order);
  if (answer === unknown) return verifyLost(context, order);
  if (answer.code === 2303) return absent(sessions, order);
  if (answer.code === 2201) return { event: "held-by-other", reason: "the name is held by another registrar" };
  if (answer.code !== 1000 || !answer.data) return verifyLost(context, order, `info was answered with ${answer.code}`);
  const info = answer.data;
  if (info.clID !== profile.registrarId) {
    return { event: "held-by-other", reason: "the name is held by another registrar" };
  }
  if (!(await isOrdersOwn(context, order, info))) return notOurs(context, order);
  if (order.verify_cause === "lost" && order.confirm_after === null) {
    // RFC 5734 §3: a server that loses the connection may still undo what it did. A second look decides.
    const confirmAfter = new Date(context.clock.now().getTime() + profile.settleMs);
    return { event: "seen-once", confirmAfter, nextStepAt: confirmAfter };
  }
  if (info.statuses.includes("pendingCreate")) {
    return { event: "ours-pending", nextStepAt: new Date(context.clock.now().getTime() + profile.reconcileIntervalMs) };
  }
  const registered = registeredOf(info);
  return registered ? { event: "ours", registered } : verifyLost(context, order, "info brought no dates");
}

function verifyLost(context: Context, order: Order, reason?: string): OrderHappening {
  const isLong = context.clock.now().getTime() - order.created_at.getTime() > unansweredAlarmMs;
  return {
    event: "verify-lost",
    countsAsFailure: true,
    reason,
    confirmAfter: order.confirm_after ?? undefined,
    ...(isLong && { operatorNote: "the registry has not said for a day whether the name was registered" }),
  };
}

/** Rows 17 and 18. */
async function absent({ context }: RegistrySessions, order: Order): Promise<OrderHappening> {
  if (order.verify_cause === "exists") {
    return {
      event: "absent",
      reason: "the registry refuses the name as existing, yet does not hold it: it is reserved",
    };
  }
  const creates = (await countAbsences(context, order.id)) + 1;
  if (creates < createAttemptsMax) return { event: "absent" };
  const operatorNote = `${creates} creates were lost without a trace at the registry`;
  return { event: "unexplained", operatorNote, countsAsFailure: true };
}

/** Row 16a: held by us, but not through this order. It is never created again. */
async function notOurs(context: Context, order: Order): Promise<OrderHappening> {
  const [other] = await context.database.query(otherHolder, [order.domain_name, order.id]);
  if (other?.is_held) return { event: "held-by-own-other", reason: "the name was registered by another order" };
  const operatorNote = "the registry holds the name for us, but no order explains it";
  return { event: "unexplained", operatorNote, countsAsFailure: true };
}

/**
 * Whether the object is this order's: its authInfo came back, or, where the registry does not show it, it was created
 * no earlier than five minutes before our first attempt (whole seconds: registries' clocks differ from ours).
 */
async function isOrdersOwn(context: Context, order: Order, info: DomainInfo): Promise<boolean> {
  if (info.authInfo) {
    const own = context.sealer.open(authInfoRow(order.order_code), order.auth_info_sealed);
    return info.authInfo.reveal() === own.reveal();
  }
  const { first_at } = await readCreateAttempts(context.database, order.id);
  if (!first_at || !info.crDate) return false;
  const seconds = (time: number) => Math.floor(time / 1000);
  return seconds(info.crDate.getTime()) >= seconds(first_at.getTime() - clockSkewMs);
}

function registeredOf(info: DomainInfo): Registered | undefined {
  if (!info.crDate || !info.exDate) return undefined;
  return { registeredAt: info.crDate, expiresAt: info.exDate, status: info.statuses[0] ?? "ok" };
}

/** What became of a pending create: `undefined` while it still is pending. Used when a message says so, and by row 21. */
export async function lookAtPending(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const answer = await askInfo(sessions, order);
  if (answer === unknown) return undefined;
  if (answer.code === 2303) return { event: "absent", reason: "the registry did not approve the registration" };
  const info = answer.data;
  const isOthers = answer.code === 2201 || (info && info.clID !== sessions.profile.registrarId);
  if (isOthers) return { event: "held-by-other", reason: "the name is held by another registrar" };
  if (answer.code !== 1000 || !info || info.statuses.includes("pendingCreate")) return undefined;
  const registered = registeredOf(info);
  return registered && { event: "ours", registered };
}

/** Row 21: a lost message, or a registry without a poll queue. */
export async function reconcilePending(sessions: RegistrySessions, order: Order): Promise<OrderHappening | undefined> {
  const happening = await lookAtPending(sessions, order);
  if (happening) return happening;
  const { context, profile } = sessions;
  await context.database.transaction((tx) => postpone(context, tx, order, profile.reconcileIntervalMs));
  return undefined;
}
