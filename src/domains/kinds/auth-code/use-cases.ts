/** A name's auth code: ordered, and read once the order has ended. */
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type AuthCodeInput, authCodeKind } from "#domains/kinds/auth-code/kind.ts";
import { secretRow } from "#domains/orders/order.ts";
import { type LockedName, placeAnswers, placeChange } from "#domains/orders/place.ts";
import { lockedStatus } from "#domains/portfolio/rows.ts";
import { ApiError } from "#errors.ts";
import { newAuthCode } from "#lib/auth-code.ts";
import { dayMs } from "#lib/clock.ts";
import { flavourOf } from "#registry/flavours/flavours.ts";
import { domainName, instant } from "#use-case/docs.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { UseCase } from "#use-case/use-case.ts";

/** RFC 5731 §2.3: only the registry can remove it. */
const prohibitedStatus = "serverTransferProhibited";

/** POST /domains/<domain_name>/auth-code: 202 and an order, whose end makes the code readable. */
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

const codeForOwner = statement(
  "auth-code-for-owner",
  `SELECT domain.domain_name, domain.registry_id, code.order_code, code.code_sealed, code.expires_at
   FROM domains AS domain LEFT JOIN auth_codes AS code ON code.domain_name = domain.domain_name AND code.expires_at > $now
   WHERE domain.reseller_id = $reseller_id AND domain.domain_name = $name`,
  { domain_name: "text", registry_id: "text", order_code: "text?", code_sealed: "bytea?", expires_at: "timestamptz?" },
);

const authCodeShape = Type.Object(
  { domain_name: domainName, auth_code: Type.String({ examples: ["f3Zk0v-aM2Qx9LpT"] }), expires_at: instant },
  { title: "AuthCode" },
);

/** GET /domains/<domain_name>/auth-code: the code, until it expires. */
export const readAuthCode: UseCase = {
  errors: ["domain_not_valid", "domain_not_found", "auth_code_not_found"],
  scope: "domains:transfer",
  docs: {
    operation: "readAuthCode",
    summary: "Reads the code with which another registrar can request a name's transfer, until it expires.",
    answers: { 200: { description: "The code.", body: authCodeShape } },
  },

  async handle({ database, clock, sealer, registries }, request) {
    const name = parsePathName(request.params.domain_name ?? "");
    const { resellerId } = request.caller;
    const [row] = await database.query(codeForOwner, { reseller_id: resellerId, name, now: clock.now() });
    if (!row) throw new ApiError("domain_not_found");
    const { domain_name, registry_id, order_code, code_sealed, expires_at } = row;
    if (order_code === null || code_sealed === null) {
      const isSent = registries.find(({ id }) => id === registry_id)?.authInfo === "holder";
      const text = "The registry of this name sends its codes to the name's holder, and shows them to nobody else.";
      throw new ApiError("auth_code_not_found", isSent ? { text } : {});
    }
    const code = sealer.open(secretRow(order_code), code_sealed);
    const body: Static<typeof authCodeShape> = {
      domain_name,
      auth_code: code.reveal(),
      expires_at: expires_at!.toISOString(),
    };
    return { status: 200, body };
  },
};
