/**
 * The kind `renew`: a renewal that the reseller asks for, of the term that it names. It takes the place of the term's scheduled
 * renewal. Only `<info>` proves it: the exDate has moved by what was ordered.
 */
import Type from "typebox";
import type { ChangeEnd, ChangeOrder } from "#domains/managing/change-orders.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/managing/order-kind.ts";
import { findUnderWay, renewalUnderWay } from "#domains/managing/paid/underway.ts";
import { type LockedName, placeChange, placeErrors } from "#domains/managing/place.ts";
import type { ChangeEvent } from "#domains/managing/states.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { eventOfRenew } from "#domains/renewals/kind-renew.ts";
import { isAnotherDate, isNextTerm, periodsBetween, termAfter, yearsBetween } from "#domains/renewals/terms.ts";
import { ApiError, invalidField } from "#errors.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** RFC 5731 leaves it to the registry (2105, 2306); ten years from now is ICANN's rule, and nearly everyone's. */
const registeredYearsMax = 10;

const requestBody = Type.Object({
  years: Type.Integer({ minimum: 1, maximum: registeredYearsMax }),
  expiration_date: Type.String(),
});

/** As JSON in the order's row. */
interface Ordered {
  years: number;
  /** The end of the term that it renews. */
  expiration_date: string;
}

/** What the first command said; written before it was sent. */
interface Sent {
  /** Its curExpDate. */
  base_ex_date?: string;
  /** What the registry had not renewed by itself. */
  years_left?: number;
}

/** RFC 5731 §2.3. With these statuses a renew is refused, and none of them is ours. */
const forbidding = ["clientRenewProhibited", "serverRenewProhibited", "pendingDelete"];

export const renewOrderKind: OrderKind = {
  name: "renew",
  isUrgent: true,
  isPaid: true,
  pendingStatus: "pendingRenew",
  plan: whileHeld(planRenew),
  settledEnd: ({ shown }) => (shown?.ex_date ? { renewedUntil: new Date(shown.ex_date) } : {}),

  meaning(code, { profile }) {
    const event = eventOfRenew(code, profile.renewalResultCodes);
    return event === "operator-needed" ? undefined : (event as ChangeEvent);
  },
};

function planRenew(sessions: RegistrySessions, order: ChangeOrder, info: DomainInfo): Plan {
  const { exDate } = info;
  if (!exDate) return { is: "unknown", reason: "info brought no exDate" };
  const { base_ex_date: sentFrom, years_left: sentYears } = order.found as Sent;
  if (sentFrom === undefined || sentYears === undefined || !mayBeExecuted(sessions, order)) {
    return planFirst(sessions, order, info, exDate);
  }
  const base = new Date(sentFrom);
  if (periodsBetween(base, exDate, sentYears) > 0) return { is: "done", end: endOf(base, sentYears, exDate) };
  // The registry executes only one of several renews with the same curExpDate (RFC 5731 §3.2.3), but perhaps two with different ones.
  if (!isAnotherDate(base, exDate)) return planSend(sessions, order, info, base, sentYears);
  const reason = `a renew of ${sentYears} years from ${dayOf(base)} was sent, and the registry shows ${dayOf(exDate)} now`;
  return { is: "unknown", reason, operatorNote: `${reason}: ask the registry what it has renewed` };
}

/** What the registry has renewed by itself since the order was placed counts. */
function planFirst(sessions: RegistrySessions, order: ChangeOrder, info: DomainInfo, exDate: Date): Plan {
  const { years, expiration_date } = order.input as Ordered;
  const term = new Date(expiration_date);
  const renewedYears = isNextTerm(term, exDate) ? yearsBetween(term, exDate) : 0;
  if (renewedYears >= years) return { is: "done", end: endOf(term, years, exDate) };
  return planSend(sessions, order, info, exDate, years - renewedYears);
}

function planSend(
  { profile }: RegistrySessions,
  { domain_name: name }: ChangeOrder,
  { statuses }: DomainInfo,
  base: Date,
  years: number,
): Plan {
  const found = statuses.filter((status) => forbidding.includes(status));
  if (found.length > 0) {
    return {
      is: "refused",
      as: "failed",
      reason: `the registry does not renew the name: it shows ${found.join(", ")}`,
    };
  }
  if (profile.period === "none" && years !== profile.renewalYears) {
    const reason = `the registry renews names for ${profile.renewalYears} years only, and ${years} are to be sent`;
    return { is: "refused", as: "rejected", reason };
  }
  const sent: Sent = { base_ex_date: base.toISOString(), years_left: years };
  const renew = (fee?: Money) =>
    domainRenew({
      name,
      currentExDate: base,
      periodYears: years,
      periodForm: profile.period,
      ...(fee && { fee }),
    });
  const priced = { asked: { command: "renew", periodYears: years }, withFee: renew } as const;
  return { is: "send", command: renew(), found: sent, priced };
}

/** Whether one of its commands was not refused for certain. Even if `<info>` has shown nothing of it, it may still arrive. */
function mayBeExecuted({ profile }: RegistrySessions, { attempts }: ChangeOrder): boolean {
  const refusals = ["disputed", "out-of-credit", "not-executed", "operator-needed"];
  return attempts.some(
    ({ result_code: code }) => code === null || !refusals.includes(eventOfRenew(code, profile.renewalResultCodes)),
  );
}

/** A reseller's term moves by what it ordered, even where the registry's has moved by more. */
function endOf(base: Date, years: number, exDate: Date): ChangeEnd {
  const wanted = termAfter(base, years);
  if (!isNextTerm(wanted, exDate)) return { renewedUntil: exDate };
  const alarm = `the registry moved its expiry to ${exDate.toISOString()}, and ${wanted.toISOString()} was ordered`;
  return { renewedUntil: wanted, alarm };
}

const dayOf = (date: Date) => date.toISOString().slice(0, "YYYY-MM-DD".length);

/** POST /domains/<domain_name>/renewals: 202 and an order. */
export const renewDomain: UseCase = {
  errors: [...placeErrors, "domain_expiration_changed", "domain_renewal_underway"],
  scope: "domains:renew",

  handle(context, request) {
    const { years, expiration_date: given } = parseBody(requestBody, request.rawBody);
    const isDay = parseDate(given);
    const input: Ordered = { years, expiration_date: "" };
    return placeChange(context, request, {
      kind: renewOrderKind,
      prefix: "REN",
      input,

      check(_tx, { expiration_date: current }) {
        const isCurrent = isDay ? dayOf(current) === given : current.getTime() === Date.parse(given);
        if (!isCurrent) throw expirationChanged(current);
        input.expiration_date = current.toISOString();
      },

      async findSame(tx, name) {
        const [first, ...others] = await findUnderWay(tx, name.domain_name);
        if (first) {
          if (first.kind === "renew" && first.years === years && others.length === 0) return first.code;
          throw renewalUnderWay();
        }
        checkYears(name, years, context.clock.now());
        return undefined;
      },
    });
  },
};

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i;

/** @returns whether it is a day, not an instant @throws ApiError `bad_request` */
function parseDate(text: string): boolean {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  if ((isDay || instant.test(text)) && !Number.isNaN(Date.parse(text))) return isDay;
  const advice = "Send the expiration_date that the domain has now: as it is shown, or its UTC date (2027-11-21).";
  throw invalidField("expiration_date", advice);
}

function expirationChanged(current: Date): ApiError {
  return new ApiError("domain_expiration_changed", {
    text: `The name's expiration_date is ${current.toISOString()}, not the one that you gave, so it may have been renewed already. Nothing was ordered; order again with this date if that is still wanted.`,
  });
}

/** @throws ApiError `bad_request` */
function checkYears({ expiration_date, registry_ex_date }: LockedName, years: number, now: Date): void {
  const from = expiration_date > registry_ex_date ? expiration_date : registry_ex_date;
  const wanted = termAfter(from, years);
  const latest = termAfter(now, registeredYearsMax);
  if (wanted <= latest || !isAnotherDate(wanted, latest)) return;
  throw invalidField("years", `A name can be registered until ${registeredYearsMax} years from now at most.`);
}
