/** The kind `create`: a registration, from the answer that the name is free to the proof that it is ours. */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { localHandles } from "#domains/contacts/contact-object.ts";
import type { ContactRefs } from "#domains/contacts/stored.ts";
import { ensureContacts, findKnownContact, forgetContacts } from "#domains/kinds/create-contacts.ts";
import { ensureHosts } from "#domains/kinds/create-hosts.ts";
import { launchObstacle } from "#domains/kinds/launch.ts";
import { drainPollQueue } from "#domains/messages/poll.ts";
import type { WantedHost } from "#domains/name-servers/wanted.ts";
import { type AttemptResult, operatorRetryMs } from "#domains/orders/change.ts";
import {
  allocationTokenOf,
  authInfoOf,
  type Order,
  type OrderOutcome,
  type Registered,
} from "#domains/orders/orders.ts";
import { eventOfCreate } from "#domains/orders/result-codes.ts";
import type { Answer, Kind, Proof } from "#domains/orders/send.ts";
import { shownOf } from "#domains/portfolio/shown.ts";
import { type AgreedPrice, agreePrice } from "#domains/registry/agree-price.ts";
import { askInfo, askInfoOn, later, type NameInfo, ofCommand, shownOfOurs } from "#domains/registry/ask.ts";
import { availabilityOf } from "#domains/registry/availability.ts";
import { pauseCreates } from "#domains/registry/pause.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { termAfter } from "#domains/registry/terms.ts";
import { Secret } from "#lib/secret.ts";
import { type DomainCreated, domainCreate } from "#registry/epp/commands/domain/create.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { RegistryProfile } from "#registry/registries.ts";

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
    const allocationToken = allocationTokenOf(sessions.context, order);
    const answer = await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs, allocationToken });
    const availability = availabilityOf(answer);
    if (availability === "available") return agreesTo(order, answer.agreedFee);
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

/** A price that has risen since the order was placed is not agreed to, even if the operator's policy allows it. */
function agreesTo({ fee_amount: agreed }: Order, fee: Money | undefined): OrderOutcome {
  if (!fee || Number(fee.amount) <= Number(agreed ?? 0)) return { event: "available", isFree: true };
  const reason = `the registry asks ${fee.amount} ${fee.currency} now, and the order agrees to ${agreed ?? "no price of its own"}`;
  return { event: "refused", reason };
}

async function isFreshlyChecked(sessions: RegistrySessions, order: Order): Promise<boolean> {
  const { context, profile } = sessions;
  const { attempts, backoff_count, checked_at, next_step_at, created_at } = order;
  const isFirstStep =
    attempts.length === 0 && backoff_count === 0 && (next_step_at === null || next_step_at <= created_at);
  if (!isFirstStep || checked_at === null || checked_at <= later(sessions, -context.checkFreshMs)) return false;
  if (profile.dataModel !== "thick") return true;
  // Contacts that are given may have to be made first.
  if (order.contacts !== null) return false;
  const roles = profile.contactPerRole ? (["registrant", ...profile.contactTypes] as const) : (["registrant"] as const);
  const known = await Promise.all(roles.map((role) => findKnownContact(sessions, order, role)));
  return known.every((id) => id !== undefined);
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
    const { handles, instead } = await ensureContacts(sessions, order);
    if (instead) return { instead };
    order.handles = handles;
    const hosts = order.name_servers as WantedHost[];
    const withoutHosts = await ensureHosts(sessions, order, hosts);
    if (withoutHosts) return { instead: withoutHosts };
    const price = await priceOf(sessions, order);
    if (price.is !== "agreed") return { instead: notAgreed(price) };
    const { fee } = price;
    const allocationToken = allocationTokenOf(context, order);
    const command = domainCreate({
      name: order.domain_name,
      periodYears: order.period_years,
      periodForm: profile.period,
      nameServers: {
        hostModel: profile.hostModel,
        hosts: hosts.map(({ name, addresses = [] }) => ({ name, addresses })),
      },
      // A thin registry has no contacts.
      ...(profile.dataModel === "thick" && handles),
      authInfo: profile.authInfo === "none" ? new Secret("") : authInfoOf(context, order),
      ...(fee && { fee }),
      ...(allocationToken && { allocationToken }),
    });
    return { command };
  },

  async checkBeforeRepeat(session, sessions, order) {
    const name = await askInfoOn(session, sessions, order.domain_name);
    if (name.is === "unknown") return { event: "not-executed", countsAsFailure: true, reason: name.reason };
    if (name.is === "absent") return undefined;
    return { event: "exists", reason: "the name was registered after an info had not found it" };
  },

  // RFC 8495 §3.2.1: 2201 is about the order's token, not about our account.
  meaning: (code, { profile }, { allocation_token_sealed: token }) =>
    code === 2201 && token !== null ? "rejected" : eventOfCreate(code, profile.resultCodes),
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

/** A premium price was agreed to with the order. The registry is asked for an ordinary one only where it demands it. */
async function priceOf(sessions: RegistrySessions, order: Order): Promise<AgreedPrice> {
  const { fee_amount: amount, fee_currency: currency, period_years: periodYears } = order;
  if (amount !== null && currency !== null) return { is: "agreed", fee: { amount, currency } };
  if (sessions.profile.createFee === "premium") return { is: "agreed" };
  return agreePrice(sessions, order.domain_name, { command: "create", periodYears }, "order");
}

function notAgreed({ is, reason }: Exclude<AgreedPrice, { is: "agreed" }>): OrderOutcome {
  return is === "refused" ? { event: "rejected", reason } : { event: "not-executed", countsAsFailure: true, reason };
}

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
      const dates = datesOf(profile, order, { crDate, exDate }, context.clock.now());
      // RFC 5731 §3.2.1: the exDate is optional. Without it a name cannot enter the portfolio, but it is registered, for us.
      if (!dates) return { event: "created-undated", attempt };
      const nameServers = order.name_servers as WantedHost[];
      // RFC 5731 §2.3: "inactive" is the status of a name without delegation.
      const status = nameServers.length > 0 ? "ok" : "inactive";
      return { event, attempt, registered: { ...dates, status, nameServers, handles: order.handles } };
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
  sessions: RegistrySessions,
  order: Order,
  attempt: AttemptResult,
  code: number,
  reason: string,
): Promise<OrderOutcome> {
  const { context, profile } = sessions;
  if (code === 2303 && profile.dataModel === "thick" && !order.contact_renewed) {
    await forgetContacts(sessions, order, attempt.clTrid);
    return { event: "not-executed", attempt, reason, contactRenewed: true };
  }
  const isOurMistake = code === 2001;
  if (isOurMistake) await raiseAlarm(context, { kind: "epp-syntax", subject: profile.id, note: reason });
  const why = (await launchObstacle(sessions, order, code)) ?? reason;
  return { event: "rejected", attempt, reason: why, ...(isOurMistake && { operatorNote: reason }) };
}

async function proofOfCreate(sessions: RegistrySessions, order: Order, name: NameInfo): Promise<Proof<OrderOutcome>> {
  const { context } = sessions;
  const decided = (outcome: OrderOutcome): Proof<OrderOutcome> => ({ is: "decided", outcome });
  const isCreated = order.verify_cause === "created";
  if (name.is === "unknown" && !(isCreated && name.shown)) {
    return { is: "unknown", outcome: stillUnknown(context, order, name.reason) };
  }
  if (isCreated || name.is === "unknown") return decided(datesOfCreated(sessions, order, name));
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
  if (!isOrdersOwn(sessions, order, info)) {
    return decided(unexplained("the registry holds the name for us, but no order explains it"));
  }
  return { is: "done", outcome: ours(sessions, order, info) };
}

function ours(sessions: RegistrySessions, order: Order, info: DomainInfo): OrderOutcome {
  const { context, profile } = sessions;
  if (info.statuses.includes("pendingCreate")) {
    return { event: "ours-pending", nextStepAt: later(sessions, profile.reconcileIntervalMs) };
  }
  const registered = registeredOf(profile, order, info);
  return registered ? { event: "ours", registered } : stillUnknown(context, order, "info brought no dates");
}

/**
 * The registry has answered that it registered the name for this order: whose it is needs no proof, and a registry that does not
 * show the name is behind. Nothing is sent again.
 */
function datesOfCreated(sessions: RegistrySessions, order: Order, name: NameInfo): OrderOutcome {
  const shown = shownOfOurs(name);
  if (shown) return ours(sessions, order, shown);
  if (name.is === "unknown") return stillUnknown(sessions.context, order, name.reason);
  if (name.is === "absent") return stillUnknown(sessions.context, order, "the registry does not show the name yet");
  return unexplained("the registry answered that the name is registered for us, and shows it as another registrar's");
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
    ...(isLong && { operatorNote: unansweredNote(order) }),
  };
}

function unansweredNote({ verify_cause: cause }: Order): string {
  return cause === "created"
    ? "for a day the registry has not shown the dates of a name that it has registered"
    : "for a day the registry has not answered whether it holds the name";
}

/** Whether the name is in a portfolio. A live order has not brought it there. */
export async function isInPortfolio({ database }: Pick<Context, "database">, order: Order): Promise<boolean> {
  const [other] = await database.query(inPortfolio, { name: order.domain_name });
  return other?.is_held ?? false;
}

/**
 * Whether this order created the object: it has the order's authInfo or, at a registry that does not show ours, was created no
 * earlier than five minutes before our first attempt (whole seconds: registries' clocks differ from ours).
 */
function isOrdersOwn({ context, profile }: RegistrySessions, order: Order, info: DomainInfo): boolean {
  if (info.authInfo && profile.authInfo === "ours") {
    return info.authInfo.reveal() === authInfoOf(context, order).reveal();
  }
  const [first] = ofCommand(order.attempts, createName);
  if (!first || !info.crDate) return false;
  const seconds = (time: number) => Math.floor(time / 1000);
  return seconds(info.crDate.getTime()) >= seconds(first.committed_at.getTime() - clockSkewMs);
}

/** What a held name's domain row needs; `undefined` when the registry does not show the dates that it should. */
export function registeredOf(profile: RegistryProfile, order: Order, info: DomainInfo): Registered | undefined {
  const [first] = ofCommand(order.attempts, createName);
  const dates = datesOf(profile, order, info, first?.committed_at ?? order.created_at);
  const { name_servers: nameServers, handles } = shownOf(info);
  const refs = profile.dataModel === "thin" ? (order.contacts as ContactRefs | null) : null;
  const contacts = refs ? localHandles(refs) : (handles ?? undefined);
  return dates && { ...dates, status: info.statuses[0] ?? "ok", nameServers, handles: contacts };
}

/** @param sentAt when the name was registered at a registry that shows no dates, as far as we know */
function datesOf(
  { expiry }: RegistryProfile,
  { period_years: years }: Order,
  { crDate, exDate }: { crDate: Date | undefined; exDate: Date | undefined },
  sentAt: Date,
): Pick<Registered, "registeredAt" | "expiresAt"> | undefined {
  if (expiry === "registry") return crDate && exDate && { registeredAt: crDate, expiresAt: exDate };
  const registeredAt = crDate ?? sentAt;
  return { registeredAt, expiresAt: exDate ?? termAfter(registeredAt, years) };
}

/**
 * Asks for the decision about a pending create, whose message may never come; `undefined` while undecided or unknown.
 * @param isApproved a message says that the create was carried out: then an `<info>` need not say whose the name is
 */
export async function lookAtPending(
  sessions: RegistrySessions,
  order: Order,
  isApproved = false,
): Promise<OrderOutcome | undefined> {
  const name = await askInfo(sessions, order.domain_name);
  if (name.is === "absent") return { event: "absent", reason: "the registry did not approve the registration" };
  if (name.is === "held-by-other") return { event: "held-by-other", reason: "the name is held by another registrar" };
  const shown = name.is === "held-by-us" || isApproved ? shownOfOurs(name) : undefined;
  if (!shown || shown.statuses.includes("pendingCreate")) return undefined;
  const registered = registeredOf(sessions.profile, order, shown);
  return registered && { event: "ours", registered };
}
