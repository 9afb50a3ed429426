/** POST /domains/<domain_name>/auth-code: 202 and an order, whose end makes the code readable. */
import type { Context } from "#context.ts";
import { type AuthCodeInput, authCodeKind } from "#domains/kinds/auth-code/kind.ts";
import { type LockedName, placeAnswers, placeChange } from "#domains/orders/place.ts";
import { lockedStatus } from "#domains/portfolio/rows.ts";
import { ApiError } from "#errors.ts";
import { newAuthCode } from "#lib/auth-code.ts";
import { dayMs } from "#lib/clock.ts";
import { flavourOf } from "#registry/flavours/flavours.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** RFC 5731 §2.3: only the registry can remove it. */
const prohibitedStatus = "serverTransferProhibited";

export const orderAuthCode: UseCase = {
  errors: [
    "domain_not_valid",
    "domain_not_found",
    "auth_code_not_issued",
    "domain_locked",
    "domain_transfer_prohibited",
    "order_limit_reached",
  ],
  scope: "domains:transfer",
  docs: {
    operation: "orderAuthCode",
    summary: "Orders a new code with which another registrar can request a name's transfer.",
    description: "It replaces the code before. The request has no body.",
    answers: placeAnswers,
  },

  handle(context, request) {
    return placeChange(context, request, {
      kind: authCodeKind,
      prefix: "CHG",
      input: { readable_hours: context.authCodeHours } satisfies AuthCodeInput,
      // Where the registry issues the code, its own takes the place of this one.
      secret: newAuthCode(context.random),
      check: (_tx, name) => checkTransferable(context, name),
    });
  },
};

/** @throws ApiError why no code of ours would help another registrar */
function checkTransferable({ registries, clock }: Context, name: LockedName): void {
  const profile = registries.find(({ id }) => id === name.registry_id);
  const isIssued = profile !== undefined && flavourOf(profile)?.issuesCodes === true;
  if (profile?.authInfo === "registry" && !isIssued) throw new ApiError("auth_code_not_issued");
  if (profile?.authInfo === "none") {
    const text =
      "The registry of this name uses no auth codes: another registrar can request the transfer without one.";
    throw new ApiError("auth_code_not_issued", { text });
  }
  if (name.statuses.includes(lockedStatus)) throw new ApiError("domain_locked");
  if (name.statuses.includes(prohibitedStatus)) {
    const text = `The registry does not allow a transfer of this name while its status is ${prohibitedStatus}.`;
    throw new ApiError("domain_transfer_prohibited", { text });
  }
  const allowedAt = new Date(name.registration_date.getTime() + (profile?.transferProhibitedDays ?? 0) * dayMs);
  if (allowedAt <= clock.now()) return;
  const text = `The registry does not allow a transfer of this name before ${allowedAt.toISOString()}: it was registered too recently.`;
  throw new ApiError("domain_transfer_prohibited", { text });
}
