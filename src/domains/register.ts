import { getDomain } from "tldts";
import Type from "typebox";
import { parseBody } from "#api/body.ts";
import type { Answer, UseCase, UseCaseRequest } from "#api/use-case.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { askAvailability } from "#domains/availability.ts";
import { checkAfter, medianSeconds } from "#domains/estimate.ts";
import { authInfoRow } from "#domains/orders.ts";
import { ApiError, invalidField, unavailable } from "#errors.ts";
import { enqueueOrder } from "#jobs/enqueue.ts";
import { registryOwnerAlive } from "#jobs/owner-lock.ts";
import { type DomainName, InvalidDomainName, labelUnderSuffix, parseDomainName } from "#lib/domain-name.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { Secret } from "#lib/secret.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const requestBody = Type.Object({ domain_name: Type.String() });

/** 144 bits, far over the 128 that RFC 9154 §4.1 asks for. */
const authInfoBytes = 18;
/** Only an operator ends a pause: it may take a while. */
const pausedRetrySeconds = 60;
/** The owner of a registry's sessions has ended; its successor is there within seconds. */
const ownerRetrySeconds = 5;

const facts = statement(
  "registration-facts",
  `SELECT EXISTS (SELECT FROM reseller_profiles WHERE reseller_id = $1) AS has_profile,
     EXISTS (SELECT FROM blocked_names WHERE name IN ($2, $3)) AS is_blocked,
     live.order_code AS live_code, live.reseller_id AS live_reseller,
     domain.reseller_id AS holder, own.order_code AS own_code,
     registry.circuit_open_until, registry.creates_paused_reason,
     ${registryOwnerAlive("$4")} AS has_owner
   FROM (SELECT 1) AS one
   LEFT JOIN registration_orders AS live
     ON live.domain_name = $2 AND live.status IN ('NotProvisioned', 'Processing', 'Pending')
   LEFT JOIN domains AS domain ON domain.domain_name = $2
   LEFT JOIN LATERAL (
     SELECT order_code FROM registration_orders AS o
     WHERE o.domain_name = $2 AND o.reseller_id = $1 AND o.status = 'Finished'
       AND (o.id = domain.order_id OR o.ended_at > $5::timestamptz - interval '7 days')
     ORDER BY o.id DESC LIMIT 1) AS own ON true
   LEFT JOIN registries AS registry ON registry.id = $4`,
  {
    has_profile: "bool",
    is_blocked: "bool",
    live_code: "text?",
    live_reseller: "int8?",
    holder: "int8?",
    own_code: "text?",
    circuit_open_until: "timestamptz?",
    creates_paused_reason: "text?",
    has_owner: "bool",
  },
);

const insertOrder = statement(
  "order-insert",
  `INSERT INTO registration_orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
     auth_info_sealed, status, created_at, updated_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7, 'NotProvisioned', $8, $8) RETURNING id, ${medianSeconds("$4")} AS median_seconds`,
  { id: "int8", median_seconds: "int4" },
);

const insertFirstHistory = statement(
  "order-history-first",
  "INSERT INTO order_history (order_id, at, event, status) VALUES ($1, $2, 'requested', 'NotProvisioned')",
  {},
);

const suffixMedian = statement("suffix-median", `SELECT ${medianSeconds("$1::text")} AS median_seconds`, {
  median_seconds: "int4",
});

/** POST /domains/registrations: 202 and an order, or the reason why not. */
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
    const live = await checkFacts(context, request, name, target);
    if (live !== undefined) return answerLiveOrder(context, request, live, target?.suffix ?? "");
    if (!target) throw blocked(context);
    await checkAvailability(context, target.registry, name);
    return placeOrder(context, request, name, target);
  },
};

interface Target {
  registry: RegistryProfile;
  suffix: string;
  label: string;
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
 * The registry that serves a name; `undefined` when none does.
 * @throws ApiError `bad_request` when the name is not one label under its suffix, served here or public
 */
function findTarget(context: Context, name: DomainName): Target | undefined {
  const bySuffix = new Map(
    context.registries
      .toReversed()
      .flatMap((registry) => registry.suffixes.map((suffix) => [suffix, registry] as const)),
  );
  const placement = labelUnderSuffix(name, new Set(bySuffix.keys()));
  if ("label" in placement) {
    return { registry: bySuffix.get(placement.suffix)!, suffix: placement.suffix, label: placement.label };
  }
  const isRegistrable = placement.refusal === "not_served" && getDomain(name, { allowPrivateDomains: true }) === name;
  if (isRegistrable) return undefined;
  throw invalidField("domain_name", "Only one label directly under a suffix can be registered, like example.com.");
}

/** Checks all that the database knows; returns the code of the caller's own live order for the name, if there is one. */
async function checkFacts(context: Context, request: UseCaseRequest, name: DomainName, target: Target | undefined) {
  const { resellerId } = request.caller;
  const now = context.clock.now();
  const label = target?.label ?? name.slice(0, name.indexOf("."));
  const [found] = await context.database.query(facts, [resellerId, name, label, target?.registry.id ?? "", now]);
  if (!found) throw new Error("the facts query returned no row");
  if (!found.has_profile) {
    throw new ApiError("bad_request", {
      text: "Your account has no profile to register names with. Ask the operator to complete it.",
      validationErrors: [{ error_code: "missing", error_text: "The account's profile is missing.", field: "profile" }],
    });
  }
  if (!target || found.is_blocked) throw blocked(context, found.is_blocked ? name : undefined);
  if (found.live_code !== null && found.live_reseller === resellerId) return found.live_code;
  if (found.holder === resellerId || found.own_code !== null) throw alreadyYours(request, found.own_code);
  if (found.holder !== null || found.live_code !== null) throw new ApiError("domain_availability_taken");
  if (found.circuit_open_until !== null && found.circuit_open_until > now) {
    throw unavailable((found.circuit_open_until.getTime() - now.getTime()) / 1000, registryDown);
  }
  if (found.creates_paused_reason !== null) throw unavailable(pausedRetrySeconds, registryDown);
  if (!found.has_owner) throw unavailable(ownerRetrySeconds, registryDown);
  return undefined;
}

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

async function checkAvailability(context: Context, registry: RegistryProfile, name: DomainName): Promise<void> {
  const availability = await askAvailability(context, registry.id, name);
  if (availability === "taken") throw new ApiError("domain_availability_taken");
  if (availability === "unknown") throw new ApiError("domain_availability_lookuperror");
  if (availability === "refused") {
    const text = "The registry does not offer this name for registration (reserved, blocked or premium).";
    throw new ApiError("domain_availability_blocked", { text });
  }
}

async function placeOrder(context: Context, request: UseCaseRequest, name: DomainName, target: Target) {
  try {
    return await context.database.transaction((tx) => insertWithJob(context, tx, request, name, target));
  } catch (error) {
    if (!isUniqueViolation(error, "registration_orders_live_name")) throw error;
    // Somebody's order for the name was committed since the facts were read: the index decided the race.
    const live = await checkFacts(context, request, name, target);
    if (live === undefined) throw new ApiError("domain_availability_taken");
    return answerLiveOrder(context, request, live, target.suffix);
  }
}

async function insertWithJob(
  context: Context,
  tx: Transaction,
  request: UseCaseRequest,
  name: DomainName,
  { registry, suffix }: Target,
): Promise<Answer> {
  const now = context.clock.now();
  const code = newOrderCode(context.random);
  const authInfo = new Secret(context.random.bytes(authInfoBytes).toString("base64url"));
  const [order] = await tx.query(insertOrder, [
    ...[code, request.caller.resellerId, name, suffix, registry.id, registry.periodYears],
    ...[context.sealer.seal(authInfoRow(code), authInfo), now],
  ]);
  if (!order) throw new Error("the order was not inserted");
  await tx.query(insertFirstHistory, [order.id, now]);
  await enqueueOrder(tx, { id: order.id, registryId: registry.id }, 0);
  const answer = accepted(request, code, order.median_seconds);
  await request.commit(tx, answer);
  return answer;
}

/** The same order again: the name is the idempotency key. */
async function answerLiveOrder(context: Context, request: UseCaseRequest, code: string, suffix: string) {
  const [median] = await context.database.query(suffixMedian, [suffix]);
  const answer = accepted(request, code, median?.median_seconds ?? 1);
  await context.database.transaction((tx) => request.commit(tx, answer));
  return answer;
}

function accepted(request: UseCaseRequest, code: string, medianSeconds: number): Answer {
  return {
    status: 202,
    headers: { location: `${request.prefix}/domains/registrations/${code}`, "check-after": checkAfter(medianSeconds) },
  };
}
