/**
 * POST /signature-check: shows what the service builds from a request that the body describes. It changes nothing, takes no
 * nonce, and stores and logs nothing of the request. An unsigned call looks no key up, so it cannot be used to guess
 * signatures; a signed call verifies signatures by the keys of its account.
 */
import { type Credentials, readCredentials, type SentRequest } from "#api/signing/credentials.ts";
import { parseDescribedRequest } from "#api/signing/described-request.ts";
import { explainSignature } from "#api/signing/explain.ts";
import { descriptionShape, explanationShape } from "#api/signing/explanation-shape.ts";
import { parseAuthorization, stringsToSign } from "#api/signing/signature.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { apiSecretRow } from "#resellers/key-store.ts";
import { type Answer, type Caller, scopes, type UseCase, type UseCaseRequest } from "#use-case/use-case.ts";

// One statement for keys of other accounts and keys that do not exist, so that they are indistinguishable.
const ownKey = statement(
  "signature-check-own-key",
  `SELECT secret_sealed, revoked_at IS NOT NULL AS is_revoked, coalesce(expires_at <= $now, false) AS is_expired
   FROM api_keys WHERE id = $id AND reseller_id = $reseller_id`,
  { secret_sealed: "bytea", is_revoked: "bool", is_expired: "bool" },
);

/** A signed call. */
export const checkSignature: UseCase = {
  errors: ["bad_request"],
  // Every key may ask.
  scope: scopes,
  changesNothing: true,
  docs: {
    operation: "checkSignature",
    summary: "Shows what the service builds from a request whose signature it refuses.",
    description:
      "It changes nothing and uses no nonce. Without a signature, no key is looked up, and each source may ask 30 times a minute.",
    body: descriptionShape,
    answers: { 200: { description: "What the service builds from the request.", body: explanationShape } },
  },
  async handle(context, { rawBody, caller, judgeTimes }) {
    const described = parseDescribedRequest(rawBody);
    return {
      status: 200,
      body: { ...explainSignature(described, judgeTimes), match: await findMatch(context, caller, described) },
    };
  },
};

/** A call without a signature. @throws ApiError `bad_request` */
export function checkSignatureUnsigned(rawBody: Buffer, judgeTimes: UseCaseRequest["judgeTimes"]): Answer {
  return { status: 200, body: explainSignature(parseDescribedRequest(rawBody), judgeTimes) };
}

/** Whether a key of the caller's account has signed the request; null when the request names no key. */
async function findMatch({ database, sealer, clock }: Context, { resellerId }: Caller, request: SentRequest) {
  const credentials = readCredentials(request);
  if (!credentials) return null;
  const values = { id: credentials.keyId, reseller_id: resellerId, now: clock.now() };
  const [key] = await database.point(ownKey, values);
  if (!key) {
    return { key: "unknown", signed: null, text: "Your account has no key with this id, so nothing was verified." };
  }
  const signedText = credentials.findSignedText(
    sealer.open(apiSecretRow(credentials.keyId), key.secret_sealed).reveal(),
  );
  const state = key.is_revoked ? "revoked" : key.is_expired ? "expired" : "active";
  return { key: state, ...presentMatch(request, credentials, signedText), ...(state !== "active" && refusals[state]) };
}

const refusals = {
  revoked: { text: "This key is revoked, so the service refuses every request that it signs." },
  expired: { text: "This key has expired, so the service refuses every request that it signs." },
};

function presentMatch(request: SentRequest, { keyId }: Credentials, signedText: string | undefined) {
  if (signedText === undefined) {
    const text = `The signature was not made with the secret of ${keyId} from any text that is shown here. Compare yours with them byte by byte; if one is equal, compare the secret.`;
    return { signed: false, text };
  }
  const authorization = parseAuthorization(request.headers.authorization);
  if (!authorization) return { signed: true, text: "The signature is right: signature_base was signed." };
  const index = [...stringsToSign({ ...request, authorization })].indexOf(signedText);
  return { signed: true, string_to_sign: index, text: `The signature is right: strings_to_sign[${index}] was signed.` };
}
