import Type from "typebox";
import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/changes/due.ts";
import { authInfoRow } from "#domains/orders/orders.ts";
import { medianSeconds } from "#domains/orders/usual-duration.ts";
import { askAvailability } from "#domains/registry/availability.ts";
import { findTarget, type Target } from "#domains/registry/target.ts";
import { ApiError, invalidField, unavailable } from "#errors.ts";
import { type DomainName, InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { Secret } from "#lib/secret.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { parseBody } from "#use-case/body.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { Answer, UseCase, UseCaseRequest } from "#use-case/use-case.ts";

const requestBody = Type.Object({ domain_name: Type.String() });

/** 144 bits, far over the 128 that RFC 9154 §4.1 asks for. */
const authInfoBytes = 18;
/** Only an operator ends a pause, which may take a while. */
const pausedRetrySeconds = 60;
/** The owner of a registry's sessions has ended; a successor takes over within seconds. */
const ownerRetrySeconds = 5;

/** POST /domains/registrations: 202 and an order, or why not. */
export const registerDomain: UseCase = {
  errors: [
    "bad_request",
    "domain_availability_blocked",
    "domain_availability_taken",
    "domain_availability_lookuperror",
    "service_unavailable",
  ],
  scope: "domains:register",

  async handle(context, request) {
    const name = parseRequestedName(parseBody(requestBody, request.rawBody).domain_name);
    const target = findTarget(context, name);
    const { live, medianSeconds } = await checkFacts(context, request, name, target);
    if (live !== undefined) return answerLiveOrder(context, request, live, medianSeconds);
    if (!target) throw blocked(context);
    const checkedAt = context.clock.now();
    const fee = await checkAvailability(context, target.registry, name);
    return placeNewOrder(context, request, target, { name, medianSeconds, checkedAt, fee });
  },
};

interface Registration {
  name: DomainName;
  medianSeconds: number;
  /** The time just before the registry was asked. */
  checkedAt: Date;
  /** The price of a name that has a price of its own (RFC 8748). */
  fee: Money | undefined;
}

function parseRequestedName(text: string): DomainName {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    throw invalidField("domain_name", error.message);
  }
}

/**
 * Checks everything that the database knows.
 * @returns the code of the caller's own live order for the name, if there is one, and how long such an order takes
 */
async function checkFacts(context: Context, request: UseCaseRequest, name: DomainName, target: Target | undefined) {
  const { resellerId } = request.caller;
  const now = context.clock.now();
  const [found] = await context.database.batched(facts, {
    reseller_id: resellerId,
    name,
    label: target?.label ?? name.slice(0, name.indexOf(".")),
    suffix: target?.suffix ?? "",
    registry_id: target?.registry.id ?? "",
    at: now,
  });
  if (!found) throw new Error("the facts query returned no row");
  if (!found.has_profile) {
    throw new ApiError("bad_request", {
      text: "Your account has no profile to register names with. Ask the operator to complete it.",
      validationErrors: [{ error_code: "missing", error_text: "The account's profile is missing.", field: "profile" }],
    });
  }
  if (!target || found.is_blocked) throw blocked(context, found.is_blocked ? name : undefined);
  const medianSeconds = found.median_seconds;
  if (found.live_code !== null && found.live_reseller === resellerId) return { live: found.live_code, medianSeconds };
  if (found.holder === resellerId || found.own_code !== null) throw alreadyYours(request, found.own_code);
  if (found.holder !== null || found.live_code !== null) throw new ApiError("domain_availability_taken");
  if (found.maintenance_until !== null) {
    throw unavailable((found.maintenance_until.getTime() - now.getTime()) / 1000, registryMaintained);
  }
  if (found.circuit_open_until !== null && found.circuit_open_until > now) {
    throw unavailable((found.circuit_open_until.getTime() - now.getTime()) / 1000, registryDown);
  }
  if (found.creates_paused_reason !== null) throw unavailable(pausedRetrySeconds, registryDown);
  if (!found.has_owner) throw unavailable(ownerRetrySeconds, registryDown);
  return { live: undefined, medianSeconds };
}

const registryMaintained =
  "The registry of this suffix is being maintained. Nothing was ordered; try again after the number of seconds in retry-after.";

const registryDown =
  "Registrations under this suffix are currently unavailable. Nothing was ordered; try again after the number of seconds in retry-after.";

function blocked(context: Context, name?: string): ApiError {
  const suffixes = context.registries.flatMap((registry) => registry.suffixes.map((suffix) => `.${suffix}`));
  const why = name === undefined ? "This suffix is not on offer here" : `${name} is blocked`;
  const text = `${why}; the name cannot be registered through the API. Names can be registered under ${suffixes.join(", ")}.`;
  return new ApiError("domain_availability_blocked", { text });
}

function alreadyYours(request: UseCaseRequest, orderCode: string | null): ApiError {
  return new ApiError("domain_availability_taken", {
    text: "This name is not free: you registered this name.",
    ...(orderCode !== null && { headers: { location: `${request.prefix}/domains/registrations/${orderCode}` } }),
  });
}

/** @returns the price that the registration agrees to, for a name with a price of its own */
async function checkAvailability(context: Context, registry: RegistryProfile, name: DomainName) {
  const { availability, fee } = await askAvailability(context, registry.id, name);
  if (availability === "taken") throw new ApiError("domain_availability_taken");
  if (availability === "unknown") throw new ApiError("domain_availability_lookuperror");
  if (availability === "refused") {
    const text = "The registry does not offer this name for registration (reserved, blocked or premium).";
    throw new ApiError("domain_availability_blocked", { text });
  }
  return fee;
}

async function placeNewOrder(
  context: Context,
  request: UseCaseRequest,
  target: Target,
  wanted: Registration,
): Promise<Answer> {
  const code = newOrderCode(context.random);
  const authInfo = new Secret(context.random.bytes(authInfoBytes).toString("base64url"));
  const { registry, suffix } = target;
  const item = {
    order_code: code,
    reseller_id: request.caller.resellerId,
    domain_name: wanted.name,
    suffix,
    registry_id: registry.id,
    period_years: registry.periodYears,
    auth_info_sealed: byteaText(context.sealer.seal(authInfoRow(code), authInfo)),
    checked_at: wanted.checkedAt,
    fee_amount: wanted.fee?.amount,
    fee_currency: wanted.fee?.currency,
    at: context.clock.now(),
  };
  const answer = accepted(request, code, wanted.medianSeconds);
  if (await commitOrder(context, request, item, answer)) return answer;
  // Another order for the name was committed after the facts were read: the index decided the race.
  const { live, medianSeconds } = await checkFacts(context, request, wanted.name, target);
  if (live === undefined) throw new ApiError("domain_availability_taken");
  return answerLiveOrder(context, request, live, medianSeconds);
}
/** The driver's text form of a bytea. */
const byteaText = (bytes: Buffer) => `\\x${bytes.toString("hex")}`;

/**
 * Writes an order with its answer.
 * @returns false when there is a live order for the name; then nothing was written
 * @throws DatabaseError a unique violation of committed_requests, when this very request was committed meanwhile
 */
async function commitOrder(context: Context, request: UseCaseRequest, item: object, answer: Answer): Promise<boolean> {
  const row = request.committedRow(answer);
  if (row) {
    const answered = { ...row, request_digest: byteaText(row.request_digest) };
    return (await context.database.batched(insertOrders, { ...item, answered })).length > 0;
  }
  return context.database.transaction(async (tx) => {
    const isPlaced = (await tx.query(insertOrders, { items: itemsText([item]) })).length > 0;
    if (isPlaced) await request.commit(tx, answer);
    return isPlaced;
  });
}

/** Answers with the order that exists: the name is the idempotency key. */
async function answerLiveOrder(context: Context, request: UseCaseRequest, code: string, medianSeconds: number) {
  const answer = accepted(request, code, medianSeconds);
  await context.database.transaction((tx) => request.commit(tx, answer));
  return answer;
}

function accepted(request: UseCaseRequest, code: string, medianSeconds: number): Answer {
  return {
    status: 202,
    headers: { location: `${request.prefix}/domains/registrations/${code}`, "check-after": checkAfter(medianSeconds) },
  };
}

// LIMIT 1 keeps each look-up of a name on its index: a plan for many names that was made for a small table would read all of it.
// With = in place of IS NOT DISTINCT FROM the plan would read the index of all finished orders.
const facts = statement(
  "registration-facts",
  `WITH asked AS MATERIALIZED (
     SELECT item, reseller_id, name, label, suffix, registry_id, at FROM jsonb_to_recordset($items::jsonb)
       AS item(item int4, reseller_id int8, name text, label text, suffix text, registry_id text, at timestamptz)),
   median AS MATERIALIZED (
     SELECT suffix, ${medianSeconds("distinct_suffix.suffix")} AS seconds
     FROM (SELECT DISTINCT suffix FROM asked) AS distinct_suffix)
   SELECT asked.item, EXISTS (SELECT FROM reseller_profiles AS p WHERE p.reseller_id = asked.reseller_id) AS has_profile,
     EXISTS (SELECT FROM blocked_names AS blocked WHERE blocked.name IN (asked.name, asked.label)) AS is_blocked,
     live.order_code AS live_code, live.reseller_id AS live_reseller,
     domain.reseller_id AS holder, own.order_code AS own_code,
     registry.circuit_open_until, registry.creates_paused_reason,
     CASE WHEN registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at
       THEN registry.maintenance_until END AS maintenance_until,
     ${registryOwnerAlive("asked.registry_id")} AS has_owner,
     median.seconds AS median_seconds
   FROM asked
   JOIN median ON median.suffix = asked.suffix
   LEFT JOIN LATERAL (
     SELECT order_code, reseller_id FROM registration_orders AS o
     WHERE o.domain_name = asked.name AND o.status IN ('NotProvisioned', 'Processing', 'Pending')
     LIMIT 1) AS live ON true
   LEFT JOIN LATERAL (
     SELECT reseller_id, order_id FROM domains WHERE domain_name = asked.name LIMIT 1) AS domain ON true
   LEFT JOIN LATERAL (
     SELECT order_code FROM registration_orders AS o
     WHERE o.domain_name = asked.name AND o.reseller_id = asked.reseller_id AND o.status IS NOT DISTINCT FROM 'Finished'
       AND (o.id = domain.order_id OR o.ended_at > asked.at - interval '7 days')
     ORDER BY o.id DESC LIMIT 1) AS own ON true
   LEFT JOIN registries AS registry ON registry.id = asked.registry_id`,
  {
    item: "int4",
    has_profile: "bool",
    is_blocked: "bool",
    live_code: "text?",
    live_reseller: "int8?",
    holder: "int8?",
    own_code: "text?",
    circuit_open_until: "timestamptz?",
    creates_paused_reason: "text?",
    maintenance_until: "timestamptz?",
    has_owner: "bool",
    median_seconds: "int4",
  },
);

// Orders of the same moment share one statement and one commit: their rows, histories, answers and the notification of the
// registry's owner. If the nonce is committed already, the statement fails: no part of that order may stay.
const insertOrders = statement(
  "orders-insert",
  `WITH new AS MATERIALIZED (
     SELECT item, order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed, checked_at,
       fee_amount, fee_currency, at, answered
     FROM jsonb_to_recordset($items::jsonb) AS item(item int4, order_code text, reseller_id int8, domain_name text,
       suffix text, registry_id text, period_years int4, auth_info_sealed bytea, checked_at timestamptz,
       fee_amount numeric, fee_currency text, at timestamptz, answered jsonb)),
   placed AS (
     INSERT INTO registration_orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
       auth_info_sealed, status, checked_at, fee_amount, fee_currency, created_at, updated_at)
     SELECT order_code, reseller_id, domain_name, suffix, registry_id, period_years, auth_info_sealed,
       'NotProvisioned', checked_at, fee_amount, fee_currency, at, at FROM new ORDER BY item
     ON CONFLICT (domain_name) WHERE status IN ('NotProvisioned', 'Processing', 'Pending') DO NOTHING
     RETURNING id, order_code),
   written AS MATERIALIZED (
     SELECT new.item, placed.id, new.reseller_id, new.registry_id, new.at, new.answered
     FROM placed JOIN new USING (order_code)),
   history AS (
     INSERT INTO order_history (order_id, at, event, status)
     SELECT id, at, 'requested', 'NotProvisioned' FROM written),
   answers AS (
     INSERT INTO committed_requests (key_id, nonce, signed_at, request_digest, status, headers, body, created_at)
     SELECT a.key_id, a.nonce, a.signed_at, a.request_digest, a.status, a.headers, a.body, written.at
     FROM written, jsonb_to_record(written.answered) AS a(key_id text, nonce text, signed_at int8,
       request_digest bytea, status int4, headers jsonb, body text)
     WHERE written.answered IS NOT NULL),
   woken AS MATERIALIZED (${wakeAll("order", "written")})
   SELECT written.item, written.id, (SELECT notified FROM woken) AS owners_notified FROM written`,
  { item: "int4", id: "int8", owners_notified: "int8" },
);
