/** A renewal that the reseller asks for, of the term that it names. It takes the place of the term's scheduled renewal. */
import Type from "typebox";
import { type OrderedRenewal, renewOrderKind } from "#domains/kinds/renew-kind.ts";
import { findUnderWay, renewalUnderWay } from "#domains/kinds/underway.ts";
import { cancelScheduledOrder } from "#domains/orders/follow-up.ts";
import { type LockedName, placeAnswers, placeChange, placeErrors } from "#domains/orders/place.ts";
import { dayOf, isAnotherDate, termAfter } from "#domains/registry/terms.ts";
import { ApiError, invalidField } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** RFC 5731 leaves it to the registry (2105, 2306); ten years from now is ICANN's rule, and nearly everyone's. */
const registeredYearsMax = 10;

const requestBody = Type.Object({
  years: Type.Integer({ minimum: 1, maximum: registeredYearsMax, examples: [1] }),
  expiration_date: Type.String({
    description: "The domain's current one, or its UTC date: a request that is sent again never buys a second term.",
    examples: ["2027-11-21"],
  }),
});

/** POST /domains/<domain_name>/renewals: 202 and an order. */
export const renewDomain: UseCase = {
  errors: [...placeErrors, "domain_expiration_changed", "domain_renewal_underway"],
  scope: "domains:renew",
  docs: {
    operation: "renewDomain",
    summary: "Orders the renewal of a name now.",
    description: "It takes the place of the term's scheduled renewal.",
    isPaidOrder: true,
    body: requestBody,
    answers: placeAnswers,
  },

  handle(context, request) {
    const { years, expiration_date: given } = parseBody(requestBody, request.rawBody);
    const isDay = parseDate(given);
    const input: OrderedRenewal = { years, expiration_date: "" };
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
        const underWay = await findUnderWay(tx, name.domain_name);
        const [first, ...others] = underWay.filter(({ gives_way }) => gives_way === null);
        if (first) {
          if (first.kind === "renew" && first.years === years && others.length === 0) return first.code;
          throw renewalUnderWay();
        }
        const now = context.clock.now();
        checkYears(name, years, now);
        for (const { gives_way: renewalId } of underWay) {
          const reason = "a renewal by hand takes its place";
          if (renewalId !== null) await cancelScheduledOrder(tx, renewalId, { reason, now });
        }
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
