/** The kind `create`: a registration, from the answer that the name is free to the proof that it is ours. */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type AttemptResult, operatorRetryMs } from "#domains/changes/change.ts";
import { type Answer, eventsByCode, type Kind, lostAnswer, type Proof } from "#domains/changes/kind.ts";
import { askInfo, askInfoOn, later, type NameInfo, ofCommand } from "#domains/changes/proof.ts";
import { ensureContact, findKnownContact } from "#domains/orders/contact.ts";
import { authInfoRow, type Order, type OrderOutcome, type Registered } from "#domains/orders/orders.ts";
import { nextOrderState, type OrderEvent } from "#domains/orders/states.ts";
import { availabilityOf } from "#domains/registry/availability.ts";
import { pauseCreates } from "#domains/registry/pause.ts";
import { drainPollQueue } from "#domains/registry/poll.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { type DomainCreated, domainCreate } from "#registry/epp/commands/domain/create.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";

const createName = "domain:create";
/** How many creates one order may send; after that an operator decides. */
const createAttemptsMax = 5;
/** How long an order waits for the registrar's account to be topped up (2104). */
const creditWaitMsMax = 24 * 60 * 60_000;
/** How much earlier than our first attempt a registry's clock may date our object. */
const clockSkewMs = 5 * 60_000;
/** When the registry has not answered for this long, an operator must look. */
const unansweredAlarmMs = 24 * 60 * 60_000;

const inPortfolio = statement(
  "name-in-portfolio",
  "SELECT EXISTS (SELECT FROM domains WHERE domain_name = $name) AS is_held",
  { is_held: "bool" },
);

const absences = statement(
  "order-absences",
  "SELECT count(*) AS absences FROM order_history WHERE order_id = $order_id AND event = 'absent'",
  { absences: "int8" },
);

/** What the result codes of a `<create>` mean (RFC 5730 §3), unless a registry's profile says otherwise. */
const createEvents = eventsByCode<OrderEvent>({
  created: [1000],
  "create-pending": [1001],
  rejected: [2001, 2003, 2004, 2005, 2303, 2304, 2305, 2306, 2308],
  "operator-needed": [2100, 2101, 2102, 2103, 2201, 2307],
  "out-of-credit": [2104],
  "not-executed": [2002, 2200, 2202, 2501, 2502],
  exists: [2302],
});

/**
 * The event of a create's result code. An unknown code is treated like a lost answer: `<info>` decides.
 * @param overrides the registry profile's meanings, code → event; one that a create cannot have is ignored
 */
export function eventOfCreate(code: number, overrides: Readonly<Record<string, string>>): OrderEvent {
  const own = overrides[String(code)] as OrderEvent | undefined;
  if (own !== undefined && nextOrderState("Processing (create)", own)) return own;
  return createEvents.get(code) ?? "unanswered";
}

/** An order starts once there is a session with its registry. */
export async function claim(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  try {
    (await sessions.pool.acquire("check", { waitMs: sessionWaitMs })).release();
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { event: "unreachable", countsAsFailure: true };
  }
  return { event: "claimed", ...((await isFreshlyChecked(sessions, order)) && { isFree: true }) };
}

/**
 * Asks whether the name is free. The registry's answer to the reseller's request is used instead while it is fresh and the create
 * follows at once: the create decides anyway.
 */
export async function check(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { pool, profile } = sessions;
  if (await isFreshlyChecked(sessions, order)) return { event: "available", isFree: true };
  try {
    const answer = await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs });
    const availability = availabilityOf(answer);
    if (availability === "available") return { event: "available", isFree: true };
    const reason = answer.reason ?? "the registry says that the name is not available";
    // A create of ours may have been executed after all: a check does not say whose name it is.
    if (ofCommand(order.attempts, createName).length > 0) return { event: "exists", reason };
    return { event: availability === "taken" ? "taken" : "refused", reason };
  } catch (error) {
    if (error instanceof EppUnavailable) return { event: "unreachable", countsAsFailure: true };
    const reason = error instanceof Error ? error.message : String(error);
    return { event: "check-lost", countsAsFailure: true, reason };
  }
}

async function isFreshlyChecked(sessions: RegistrySessions, order: Order): Promise<boolean> {
  const { context, profile } = sessions;
  const { attempts, backoff_count, checked_at, next_step_at, created_at } = order;
  const isFirstStep =
    attempts.length === 0 && backoff_count === 0 && (next_step_at === null || next_step_at <= created_at);
  if (!isFirstStep || checked_at === null || checked_at <= later(sessions, -context.checkFreshMs)) return false;
  return profile.dataModel !== "thick" || (await findKnownContact(sessions, order)) !== undefined;
}

export const createKind: Kind<Order, OrderOutcome, DomainCreated> = {
  command: createName,
  purposes: { command: "transform", info: "check" },
  // Many orders begin at once, and a claim has just shown that there are sessions.
  beginsFirst: ({ attempts }) => ofCommand(attempts, createName).length === 0,

  async frame(sessions, order) {
    const { context, profile } = sessions;
    if (order.are_creates_stopped) {
      const reason = `creates at ${profile.id} are paused`;
      return { instead: { event: "not-executed", countsAsFailure: true, reason, whileCreatesStopped: true } };
    }
    const contact = profile.dataModel === "thick" ? await ensureContact(sessions, order) : undefined;
    if (contact?.outcome) return { instead: contact.outcome };
    const { fee_amount: amount, fee_currency: currency } = order;
    const command = domainCreate({
      name: order.domain_name,
      periodYears: order.period_years,
      // A thin registry has no contacts.
      ...(contact && {
        registrant: contact.id,
        contacts: profile.contactTypes.map((type) => ({ type, id: contact.id })),
      }),
      authInfo: context.sealer.open(authInfoRow(order.order_code), order.auth_info_sealed),
      ...(amount !== null && currency !== null && { fee: { amount, currency } }),
    });
    return { command };
  },

  async checkBeforeRepeat(session, sessions, order) {
    const name = await askInfoOn(session, sessions, order.domain_name);
    if (name.is === "unknown") return { event: "not-executed", countsAsFailure: true, reason: name.reason };
    if (name.is === "absent") return undefined;
    return { event: "exists", reason: "the name was registered after an info had not found it" };
  },

  meaning: (code, { profile }) => eventOfCreate(code, profile.resultCodes),
  answered: readAnswer,
  unreachable: () => ({ event: "unreachable", countsAsFailure: true }),
  invalid: (attempt, reason) => ({
    event: "rejected",
    attempt,
    operatorNote: `the create could not be sent: ${reason}`,
  }),
  proof: proofOfCreate,
  isLost: (order) => order.verify_cause === "lost",
  seenOnce: "seen-once",
  unknown: ({ context }, order, reason) => stillUnknown(context, order, reason),
};

async function readAnswer(
  sessions: RegistrySessions,
  order: Order,
  { event, attempt, response, reason }: Answer<OrderOutcome, DomainCreated>,
): Promise<OrderOutcome> {
  const { context, profile } = sessions;
  switch (event) {
    case "created": {
      sessions.createsDone += 1;
      const { crDate, exDate } = response.data ?? {};
      // Without its dates a name cannot enter the portfolio: `<info>` will bring them.
      if (!crDate || !exDate) return lostAnswer(sessions, { ...attempt, isClosed: false });
      // RFC 5731 §2.3: the status of a name without delegation, and we send no name servers.
      return { event, attempt, registered: { registeredAt: crDate, expiresAt: exDate, status: "inactive" } };
    }
    case "create-pending":
      return { event, attempt, nextStepAt: later(sessions, profile.reconcileIntervalMs) };
    case "rejected":
      return rejected(sessions, order, attempt, response.code, reason);
    case "operator-needed":
      await pauseCreates(context, profile.id, "configuration", reason);
      return { event, attempt, reason };
    case "out-of-credit":
      return outOfCredit(sessions, order, attempt, reason);
    case "not-executed":
      return { event, attempt, reason, countsAsFailure: true };
    default:
      return { event, attempt, reason };
  }
}

function outOfCredit(sessions: RegistrySessions, order: Order, attempt: AttemptResult, reason: string): OrderOutcome {
  const pauseForCredit = { reason, createsDone: sessions.createsDone };
  const now = sessions.context.clock.now();
  const isOver = now.getTime() - (order.waiting_since ?? now).getTime() > creditWaitMsMax;
  if (isOver) return { event: "credit-never-came", attempt, reason, pauseForCredit };
  // The pause raises the alarm.
  const nextStepAt = later(sessions, operatorRetryMs);
  return { event: "out-of-credit", attempt, reason, countsAsFailure: true, nextStepAt, pauseForCredit };
}

/** 2303 says that the contact is gone (RFC 5731 §3.2.1): it is created again, once. */
async function rejected(
  { context, profile }: RegistrySessions,
  order: Order,
  attempt: AttemptResult,
  code: number,
  reason: string,
): Promise<OrderOutcome> {
  if (code === 2303 && profile.dataModel === "thick" && !order.contact_renewed) {
    return { event: "not-executed", attempt, reason, contactRenewed: true };
  }
  const isOurMistake = code === 2001;
  if (isOurMistake) await raiseAlarm(context, { kind: "epp-syntax", subject: profile.id, note: reason });
  return { event: "rejected", attempt, reason, ...(isOurMistake && { operatorNote: reason }) };
}

async function proofOfCreate(sessions: RegistrySessions, order: Order, name: NameInfo): Promise<Proof<OrderOutcome>> {
  const { context, profile } = sessions;
  const decided = (outcome: OrderOutcome): Proof<OrderOutcome> => ({ is: "decided", outcome });
  if (name.is === "unknown") return { is: "unknown", outcome: stillUnknown(context, order, name.reason) };
  if (name.is === "held-by-other") return decided({ event: name.is, reason: "the name is held by another registrar" });
  if (name.is === "absent") {
    const reason = "the registry refuses the name as existing, yet does not hold it: it is reserved";
    if (order.verify_cause === "exists") return decided({ event: "absent", reason });
    return { is: "not-done", outcome: () => absent(sessions, order) };
  }
  const { info } = name;
  // Before `isOrdersOwn`: without an authInfo that compares dates only, which may fit another order's name too.
  if (await isInPortfolio(context, order)) {
    return decided({ event: "held-by-own-other", reason: "the name was registered by another order" });
  }
  if (!isOrdersOwn(context, order, info)) {
    return decided(unexplained("the registry holds the name for us, but no order explains it"));
  }
  if (info.statuses.includes("pendingCreate")) {
    return { is: "done", outcome: { event: "ours-pending", nextStepAt: later(sessions, profile.reconcileIntervalMs) } };
  }
  const registered = registeredOf(info);
  if (!registered) return { is: "done", outcome: stillUnknown(context, order, "info brought no dates") };
  return { is: "done", outcome: { event: "ours", registered } };
}

/** After a lost answer the registry does not hold the name: create it again. */
async function absent(sessions: RegistrySessions, order: Order): Promise<OrderOutcome> {
  const { context } = sessions;
  // It may have been pending and denied. Then a message says so, and applying it ends the order.
  const areMessagesRead = await drainPollQueue(sessions).catch(() => false);
  if (!areMessagesRead) return stillUnknown(context, order, "the registry's messages could not be read");
  const [row] = await context.database.query(absences, { order_id: order.id });
  const lost = (row?.absences ?? 0) + 1;
  if (lost < createAttemptsMax) return { event: "absent" };
  return unexplained(`${lost} creates were lost without a trace at the registry`);
}

function unexplained(operatorNote: string): OrderOutcome {
  return { event: "unexplained", operatorNote, countsAsFailure: true };
}

/** The registry is asked again, for as long as it takes; after a day this raises an alarm. */
export function stillUnknown({ clock }: Pick<Context, "clock">, order: Order, reason?: string): OrderOutcome {
  const since = order.cancel_requested_at ?? order.created_at;
  const isLong = clock.now().getTime() - since.getTime() > unansweredAlarmMs;
  return {
    event: "verify-lost",
    countsAsFailure: true,
    reason,
    confirmAfter: order.confirm_after ?? undefined,
    ...(isLong && { operatorNote: "for a day the registry has not answered whether it holds the name" }),
  };
}

/** Whether the name is in a portfolio. A live order has not brought it there. */
export async function isInPortfolio({ database }: Pick<Context, "database">, order: Order): Promise<boolean> {
  const [other] = await database.query(inPortfolio, { name: order.domain_name });
  return other?.is_held ?? false;
}

/**
 * Whether this order created the object: it has the order's authInfo or, at a registry that does not show it, was created no
 * earlier than five minutes before our first attempt (whole seconds: registries' clocks differ from ours).
 */
function isOrdersOwn({ sealer }: Context, order: Order, info: DomainInfo): boolean {
  if (info.authInfo) {
    return info.authInfo.reveal() === sealer.open(authInfoRow(order.order_code), order.auth_info_sealed).reveal();
  }
  const [first] = ofCommand(order.attempts, createName);
  if (!first || !info.crDate) return false;
  const seconds = (time: number) => Math.floor(time / 1000);
  return seconds(info.crDate.getTime()) >= seconds(first.committed_at.getTime() - clockSkewMs);
}

/** What a held name's domain row needs; `undefined` when the registry does not show its dates. */
export function registeredOf(info: DomainInfo): Registered | undefined {
  if (!info.crDate || !info.exDate) return undefined;
  return { registeredAt: info.crDate, expiresAt: info.exDate, status: info.statuses[0] ?? "ok" };
}

/** Asks for the decision about a pending create, whose message may never come; `undefined` while undecided or unknown. */
export async function lookAtPending(sessions: RegistrySessions, order: Order): Promise<OrderOutcome | undefined> {
  const name = await askInfo(sessions, order.domain_name);
  if (name.is === "unknown") return undefined;
  if (name.is === "absent") return { event: "absent", reason: "the registry did not approve the registration" };
  if (name.is === "held-by-other") return { event: "held-by-other", reason: "the name is held by another registrar" };
  if (name.info.statuses.includes("pendingCreate")) return undefined;
  const registered = registeredOf(name.info);
  return registered && { event: "ours", registered };
}
