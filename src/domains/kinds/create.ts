/**
 * The kind `create`: a registration, from the answer that the name is free to the proof that it is ours. Its first lookup is a
 * `<check>`, because a name that is free has no `<info>`; from then on `<info>` decides.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type AgreedPrice, agreePrice } from "#domains/kinds/agreed-price.ts";
import { ensureContacts, ensureHosts, findKnownContact, forgetContacts } from "#domains/kinds/create-objects.ts";
import { answeredDelete, isUnwanted, planUnwanted, reserved } from "#domains/kinds/create-unwanted.ts";
import { launchObstacle } from "#domains/kinds/launch.ts";
import { datesOf, type FoundName, type OrderedName, openSecret, registeredOf } from "#domains/kinds/registration.ts";
import type { Answer, Making, OrderKind, Plan } from "#domains/orders/kind.ts";
import { type Order, type Outcome, ofCommand } from "#domains/orders/order.ts";
import { lookupFailed, settledReason } from "#domains/orders/steps/lookup.ts";
import { isCreditOverdue } from "#domains/orders/steps/next-command.ts";
import { later, type NameInfo, shownOfOurs } from "#domains/registry/ask.ts";
import { availabilityOf } from "#domains/registry/availability.ts";
import { holdCreatesStopped, pauseCreates, resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import { operatorRetryMs, type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { Secret } from "#lib/secret.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { type DomainCreated, domainCreate } from "#registry/epp/commands/domain/create.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";

const createName = "domain:create";
/** How many creates of one order may be lost; after that an operator decides. */
const lostCreatesMax = 5;
/** How much earlier than our first attempt a registry's clock may date our object. */
const clockSkewMs = 5 * 60_000;

const inPortfolio = statement(
  "name-in-portfolio",
  "SELECT EXISTS (SELECT FROM domains WHERE domain_name = $name) AS is_held",
  { is_held: "bool" },
);

export const createKind: OrderKind = {
  name: "create",
  isUrgent: false,
  needsNoTurn: true,
  isPaid: true,
  mayRepeatPreparation: true,
  purposes: { command: "transform", lookup: "check" },
  start,
  planFirst,
  plan,
  // Many orders begin at once, and their start has just shown that there are sessions.
  beginsFirst: ({ attempts }) => ofCommand(attempts, createName).length === 0,
  // RFC 8495 §3.2.1: 2201 is about the order's token, not about our account.
  meaning: (code, { input }) => (code === 2201 && (input as OrderedName).has_token ? "rejected" : undefined),
  answered,
  notExecuted,
  settled,
};

const orderedOf = ({ input }: Order) => input as OrderedName;
const foundOf = ({ found }: Order) => found as FoundName;

/** An order starts once there is a session with its registry. Unless its create follows at once, the start is written first. */
async function start(sessions: RegistrySessions, order: Order): Promise<Outcome | undefined> {
  try {
    (await sessions.pool.acquire("check", { waitMs: sessionWaitMs })).release();
    return (await isFreshlyChecked(sessions, order)) ? undefined : { event: "started" };
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { event: "unreachable", countsAsFailure: true };
  }
}

/**
 * Asks whether the name is free. The registry's answer to the reseller's request is used instead while it is fresh and the create
 * follows at once: the create decides anyway.
 */
async function planFirst(sessions: RegistrySessions, order: Order): Promise<Plan | undefined> {
  const { pool, profile, context } = sessions;
  if (order.cancel_requested_at !== null || foundOf(order).exists) return undefined;
  if (order.are_creates_stopped) {
    const holds: Outcome["holds"] = (tx) => holdCreatesStopped(tx, profile.id);
    return {
      is: "wait",
      until: later(sessions, operatorRetryMs),
      reason: `creates at ${profile.id} are paused`,
      holds,
    };
  }
  if (isFreshlyAbsent(order) || (await isFreshlyChecked(sessions, order))) return planCreate(sessions, order);
  const { allocationToken } = openSecret(context, order);
  try {
    const answer = await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs, allocationToken });
    const availability = availabilityOf(answer);
    if (availability === "available") return whyNotAgreed(order, answer.agreedFee) ?? planCreate(sessions, order);
    const reason = answer.reason ?? "the registry says that the name is not available";
    if (ofCommand(order.attempts, createName).length === 0) {
      return { is: "refused", as: availability === "taken" ? "failed" : "rejected", reason };
    }
    // A create of ours may have been executed after all: a check does not say whose name it is.
    order.found = { ...foundOf(order), exists: true } satisfies FoundName;
    return undefined;
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A price that has risen since the order was placed is not agreed to, even if the operator's policy allows it. */
function whyNotAgreed(order: Order, fee: Money | undefined): Plan | undefined {
  const agreed = orderedOf(order).fee?.amount;
  if (!fee || Number(fee.amount) <= Number(agreed ?? 0)) return undefined;
  const reason = `the registry asks ${fee.amount} ${fee.currency} now, and the order agrees to ${agreed ?? "no price of its own"}`;
  return { is: "refused", as: "rejected", reason };
}

/** The lookup after a lost create has just shown that the name is free. */
const isFreshlyAbsent = (order: Order) =>
  order.backoff_count === 0 && foundOf(order).absent_after === order.attempts.length;

async function isFreshlyChecked(sessions: RegistrySessions, order: Order): Promise<boolean> {
  const { context, profile } = sessions;
  const { attempts, backoff_count, next_step_at, created_at } = order;
  const { checked_at: checkedAt } = foundOf(order);
  const isFirstStep =
    attempts.length === 0 && backoff_count === 0 && (next_step_at === null || next_step_at <= created_at);
  if (!isFirstStep || checkedAt === undefined) return false;
  if (new Date(checkedAt) <= later(sessions, -context.checkFreshMs)) return false;
  if (profile.dataModel !== "thick") return true;
  // Contacts that are given may have to be made first.
  if (orderedOf(order).contacts) return false;
  const roles = profile.contactPerRole ? (["registrant", ...profile.contactTypes] as const) : (["registrant"] as const);
  const known = await Promise.all(roles.map((role) => findKnownContact(sessions, order, role)));
  return known.every((id) => id !== undefined);
}

const planCreate = (sessions: RegistrySessions, order: Order): Plan => ({
  is: "send",
  command: { name: createName, make: () => makeCreate(sessions, order) },
});

/** The contacts and hosts that the create names come first. */
async function makeCreate(sessions: RegistrySessions, order: Order): ReturnType<Making["make"]> {
  const { context, profile } = sessions;
  const { years, name_servers: hosts } = orderedOf(order);
  const { handles, instead } = await ensureContacts(sessions, order);
  if (instead) return { instead };
  order.handles = handles;
  const withoutHosts = await ensureHosts(sessions, order, hosts);
  if (withoutHosts) return { instead: withoutHosts };
  const price = await priceOf(sessions, order);
  if (price.is !== "agreed") {
    const { reason } = price;
    return { instead: price.is === "refused" ? { is: "refused", as: "rejected", reason } : { is: "unknown", reason } };
  }
  const { fee } = price;
  const { authInfo, allocationToken } = openSecret(context, order);
  return domainCreate({
    name: order.domain_name,
    periodYears: years,
    periodForm: profile.period,
    nameServers: {
      hostModel: profile.hostModel,
      hosts: hosts.map(({ name, addresses = [] }) => ({ name, addresses })),
    },
    // A thin registry has no contacts.
    ...(profile.dataModel === "thick" && handles),
    authInfo: profile.authInfo === "none" ? new Secret("") : authInfo,
    ...(fee && { fee }),
    ...(allocationToken && { allocationToken }),
  });
}

/** A premium price was agreed to with the order. The registry is asked for an ordinary one only where it demands it. */
async function priceOf(sessions: RegistrySessions, order: Order): Promise<AgreedPrice> {
  const { fee, years: periodYears } = orderedOf(order);
  if (fee) return { is: "agreed", fee };
  if (sessions.profile.createFee === "premium") return { is: "agreed" };
  return agreePrice(sessions, order.domain_name, { command: "create", periodYears }, "order");
}

async function answered(sessions: RegistrySessions, order: Order, answer: Answer): Promise<Outcome | undefined> {
  const { context, profile } = sessions;
  const { command, meaning, attempt, response, reason } = answer;
  if (command === "domain:delete") return answeredDelete(order, answer);
  switch (meaning) {
    case "answered": {
      sessions.creates.done += 1;
      const { crDate, exDate } = (response.data as DomainCreated | undefined) ?? {};
      const dates = datesOf(profile, order, { crDate, exDate }, context.clock.now());
      // RFC 5731 §3.2.1: the exDate is optional. Without it a name cannot enter the portfolio, but it is registered, for us.
      if (!dates) return { event: "answered", attempt };
      const { name_servers: nameServers } = orderedOf(order);
      // RFC 5731 §2.3: "inactive" is the status of a name without delegation.
      const status = nameServers.length > 0 ? "ok" : "inactive";
      const registered = { ...dates, status, nameServers, handles: order.handles };
      return { event: "done", attempt, end: { registered }, after: creditIsBack(sessions, order) };
    }
    case "disputed":
      order.found = { ...foundOf(order), exists: true } satisfies FoundName;
      return { event: "disputed", attempt, reason };
    case "rejected":
      return rejected(sessions, order, answer);
    case "failed":
      // All of them would fail: only an operator can help.
      await pauseCreates(context, profile.id, "configuration", reason);
      return { event: "failed", attempt, reason };
    case "out-of-credit":
      return outOfCredit(sessions, order, answer);
    default:
      return undefined;
  }
}

/** A name that was registered shows that there is credit again. */
function creditIsBack({ context, profile, creates }: RegistrySessions, { is_out_of_credit }: Order): Outcome["after"] {
  if (!is_out_of_credit && !creates.isOutOfCredit) return undefined;
  return async () => {
    creates.isOutOfCredit = false;
    await resumeCreatesPausedFor(context, profile.id, "credit");
  };
}

/** Creates are paused once the order is written as waiting: resuming wakes waiting orders only. The pause raises the alarm. */
function outOfCredit(sessions: RegistrySessions, order: Order, { attempt, reason }: Answer): Outcome {
  const { context, profile, creates } = sessions;
  creates.isOutOfCredit = true;
  const { done } = creates;
  const after = async () => {
    await pauseCreates(context, profile.id, "credit", reason);
    // One that was done since found no pause to end.
    if (creates.done > done) await resumeCreatesPausedFor(context, profile.id, "credit");
  };
  if (isCreditOverdue(sessions, order)) return { event: "failed", attempt, reason, after };
  const nextStepAt = later(sessions, operatorRetryMs);
  return { event: "out-of-credit", attempt, reason, nextStepAt, after };
}

/** 2303 says that the contact is gone (RFC 5731 §3.2.1): it is created again, once. */
async function rejected(
  sessions: RegistrySessions,
  order: Order,
  { attempt, response: { code }, reason }: Answer,
): Promise<Outcome> {
  const { context, profile } = sessions;
  if (code === 2303 && profile.dataModel === "thick" && !foundOf(order).contact_renewed) {
    await forgetContacts(sessions, order, attempt.clTrid);
    order.found = { ...foundOf(order), contact_renewed: true } satisfies FoundName;
    return { event: "not-executed", attempt, reason };
  }
  const isOurMistake = code === 2001;
  if (isOurMistake) await raiseAlarm(context, { kind: "epp-syntax", subject: profile.id, note: reason });
  const why = (await launchObstacle(sessions, order, code)) ?? reason;
  return { event: "rejected", attempt, reason: why, ...(isOurMistake && { operatorNote: reason }) };
}

/** What `<info>` shows about the name. */
async function plan(sessions: RegistrySessions, order: Order, name: NameInfo): Promise<Plan> {
  if (isUnwanted(order)) {
    const isChecked = name.is === "held-by-us" && order.status !== "Pending";
    return (isChecked && (await whyNotOurs(sessions, order, name.info))) || planUnwanted(sessions, order, name);
  }
  const isAnswered = order.verify_cause === "answered" || order.status === "Pending";
  const shown = isAnswered && isApproved(order) ? shownOfOurs(name) : undefined;
  if (shown) return planOurs(sessions, order, shown);
  if (order.verify_cause === "answered") return planAnswered(name);
  switch (name.is) {
    case "unknown":
      return name;
    case "held-by-other":
      return { is: "refused", as: "failed", reason: "the name is held by another registrar" };
    case "absent":
      return planAbsent(sessions, order);
    case "held-by-us":
      return order.status === "Pending" ? planOurs(sessions, order, name.info) : planHeld(sessions, order, name.info);
  }
}

/** Whether the registry has said that it registered the name for us: then an `<info>` need not say whose the name is. */
const isApproved = (order: Order) => order.verify_cause === "answered" || foundOf(order).decision?.is === "approved";

/** The registry has answered that it registered the name for this order: one that does not show it is behind. Nothing is sent again. */
function planAnswered(name: NameInfo): Plan {
  if (name.is === "unknown") return name;
  if (name.is === "absent") return { is: "unknown", reason: "the registry does not show the name yet" };
  const note = "the registry answered that the name is registered for us, and shows it as another registrar's";
  return { is: "unknown", reason: note, operatorNote: note };
}

function planAbsent(sessions: RegistrySessions, order: Order): Plan {
  const { exists, decision } = foundOf(order);
  if (order.status === "Pending" || decision?.is === "denied") {
    return { is: "refused", as: "failed", reason: "the registry did not approve the registration" };
  }
  return exists ? reserved : planCreate(sessions, order);
}

async function planHeld(sessions: RegistrySessions, order: Order, info: DomainInfo): Promise<Plan> {
  return (await whyNotOurs(sessions, order, info)) ?? planOurs(sessions, order, info);
}

/** The registry holds the name for us. Another order may have registered it. */
async function whyNotOurs(sessions: RegistrySessions, order: Order, info: DomainInfo): Promise<Plan | undefined> {
  // First: without an authInfo the comparison is of dates only, which may fit another order's name too.
  if (await isInPortfolio(sessions.context, order)) {
    return { is: "refused", as: "failed", reason: "the name was registered by another order" };
  }
  const isProven = ofCommand(order.attempts, createName).some(({ result_code }) => isSuccess(result_code ?? 0));
  if (isProven || isOrdersOwn(sessions, order, info)) return undefined;
  const note = "the registry holds the name for us, but no order explains it";
  return { is: "unknown", reason: note, operatorNote: note };
}

function planOurs(sessions: RegistrySessions, order: Order, info: DomainInfo): Plan {
  const isPending = info.statuses.includes("pendingCreate");
  const { decision } = foundOf(order);
  const settledAt = decision && new Date(new Date(decision.at).getTime() + sessions.profile.settleMs);
  if (settledAt && settledAt > sessions.context.clock.now()) {
    // A registry may be late to show what its message says.
    if (isPending && order.status === "Pending") return { is: "wait", until: settledAt };
    // A name that is not ours must not be sold.
    if (!isPending && decision.is === "denied") {
      return { is: "wait", until: settledAt, reason: "the registry's message says that the create was denied" };
    }
  }
  if (isPending) return { is: "pending" };
  const registered = registeredOf(sessions.profile, order, info);
  if (!registered) return { is: "unknown", reason: "info brought no dates" };
  return { is: "done", end: { registered }, after: creditIsBack(sessions, order) };
}

/** After a lost answer the registry does not hold the name: create it again. Or it still does: delete it again. */
async function notExecuted(sessions: RegistrySessions, order: Order): Promise<Outcome | undefined> {
  if (isUnwanted(order)) return { event: "not-seen" };
  // It may have been pending and denied. Then a message says so, and changes the order.
  const areMessagesRead = await sessions.drainMessages().catch(() => false);
  if (!areMessagesRead) return lookupFailed(order, "the registry's messages could not be read");
  const { lost = 0 } = foundOf(order);
  if (lost + 1 < lostCreatesMax) {
    order.found = { ...foundOf(order), lost: lost + 1, absent_after: order.attempts.length } satisfies FoundName;
    return { event: "not-seen" };
  }
  const note = `${lost + 1} creates were lost without a trace at the registry`;
  return lookupFailed(order, note, note);
}

/**
 * An operator says how the order ended. It is registered only if the registry holds the name for us, and failed only if it does not,
 * unless the operator forces it.
 */
async function settled(
  sessions: RegistrySessions,
  order: Order,
  name: NameInfo,
): Promise<Outcome | { refusal: string }> {
  const { context, profile } = sessions;
  const reason = settledReason(order);
  const unknown =
    name.is === "unknown" && (name.shown ? name.reason : "the registry could not be asked: try again later");
  if (order.settle_as !== "done") {
    const isNotOurs = name.is === "absent" || name.is === "held-by-other";
    if (isNotOurs || order.settle_as === "failed-forced") return { event: "settled-failed", reason };
    const advice = "delete it there, cancel the order, or use --force if another party is responsible for the name";
    return { refusal: unknown || `the registry holds the name for us: ${advice}` };
  }
  if (name.is === "unknown") return { refusal: unknown || name.reason };
  if (name.is === "absent") return { refusal: "the registry does not hold the name" };
  if (name.is === "held-by-other") return { refusal: "another registrar holds the name" };
  if (name.info.statuses.includes("pendingCreate")) {
    return { refusal: "the registry has not decided about the name yet (pendingCreate)" };
  }
  if (await isInPortfolio(context, order)) return { refusal: "the name is in a portfolio already" };
  const registered = registeredOf(profile, order, name.info);
  if (!registered) return { refusal: "the registry does not show the dates of the registration" };
  return { event: "settled-done", reason, end: { registered, isKept: true }, after: creditIsBack(sessions, order) };
}

/** Whether the name is in a portfolio. An order that has not ended has not brought it there. */
async function isInPortfolio({ database }: Pick<Context, "database">, order: Order): Promise<boolean> {
  const [other] = await database.query(inPortfolio, { name: order.domain_name });
  return other?.is_held ?? false;
}

/**
 * Whether this order created the object: it has the order's authInfo or, at a registry that does not show ours, was created no
 * earlier than five minutes before our first attempt (whole seconds: registries' clocks differ from ours).
 */
function isOrdersOwn({ context, profile }: RegistrySessions, order: Order, info: DomainInfo): boolean {
  if (info.authInfo && profile.authInfo === "ours") {
    return info.authInfo.reveal() === openSecret(context, order).authInfo.reveal();
  }
  const [first] = ofCommand(order.attempts, createName);
  if (!first || !info.crDate) return false;
  const seconds = (time: number) => Math.floor(time / 1000);
  return seconds(info.crDate.getTime()) >= seconds(first.committed_at.getTime() - clockSkewMs);
}
