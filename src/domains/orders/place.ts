/** Accepts an order about a registered name of the caller: 202 with its address, or 200 with its end for a caller that waits. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { OrderKind } from "#domains/orders/kind.ts";
import { type KindName, kindNames, secretRow } from "#domains/orders/order.ts";
import { countPaidOrder } from "#domains/orders/paid-orders.ts";
import { awaitOrder, orderShape } from "#domains/orders/read.ts";
import { wake } from "#domains/registry/sessions.ts";
import { ApiError, type ErrorCode } from "#errors.ts";
import { newOrderCode, type OrderPrefix } from "#lib/order-code.ts";
import type { Secret } from "#lib/secret.ts";
import { lockReseller } from "#locks/reseller-lock.ts";
import { checkAfter } from "#use-case/check-after.ts";
import type { Docs } from "#use-case/docs.ts";
import { parsePathName } from "#use-case/path-name.ts";
import type { Answer, UseCaseRequest } from "#use-case/use-case.ts";

/**
 * How many orders of one reseller that only set a value may be open, and how many others, beside those of the schedule: neither keep
 * the other ones out.
 */
export const liveOrdersMax = 10_000;
/**
 * Beyond this many, the orders of a reseller are counted again one after another. Fewer than the rest are placed while one
 * transaction is open.
 */
const uncontendedOrdersMax = 9_000;
const limitRetrySeconds = 60;

const lockName = statement(
  "domain-lock-for-order",
  `SELECT domain_name, registry_id, statuses, registry_ex_date, expiration_date, registration_date FROM domains
   WHERE domain_name = $name AND reseller_id = $reseller_id FOR UPDATE`,
  {
    domain_name: "text",
    registry_id: "text",
    statuses: "text[]",
    registry_ex_date: "timestamptz",
    expiration_date: "timestamptz",
    registration_date: "timestamptz",
  },
);
export type LockedName = NonNullable<(typeof lockName)["row"]>;

// `begin` writes over the version that it read, so of a replacement and a send at the same time one sees the other.
const lockUnsent = statement(
  "orders-unsent",
  `SELECT id, order_code, kind, input FROM orders AS o
   WHERE domain_name = $name AND kind = $kind AND kind <> 'create' AND ended_at IS NULL AND status IN ('NotProvisioned', 'Processing')
     AND NOT EXISTS (SELECT FROM attempts WHERE attempts.order_id = o.id)
   ORDER BY id FOR UPDATE`,
  { id: "int8", order_code: "text", kind: kindNames, input: "jsonb" },
);

const supersede = statement(
  "orders-supersede",
  `WITH ended AS (
     UPDATE orders SET status = 'Cancelled', phase = NULL, verify_cause = NULL, reason = $reason, updated_at = $now,
       ended_at = $now, next_step_at = NULL
     WHERE id = ANY ($ids::int8[]) RETURNING id, order_code),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, note)
     SELECT id, $now, 'superseded', 'Cancelled', $reason FROM ended)
   SELECT count(notify_after_commit('order_changed', order_code)) AS notified FROM ended`,
  { notified: "int8" },
);

/** SQL: the open orders that count, of one more than there may be. */
const liveOrders = `SELECT count(*) AS live FROM (
     SELECT FROM orders
     WHERE reseller_id = $reseller_id AND ended_at IS NULL AND kind <> 'create' AND renewal_id IS NULL AND is_urgent = $is_urgent::bool
     LIMIT ${liveOrdersMax + 1}) AS counted`;
const countLive = statement("orders-live", liveOrders as string, { live: "int8" });

const insertPlaced = statement(
  "order-insert",
  `WITH open AS MATERIALIZED (${liveOrders}),
   placed AS (
     INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, secret_sealed, is_urgent, status, created_at,
       updated_at, traceparent)
     SELECT $code, $reseller_id, $name, $registry_id, $kind, $input, $secret_sealed, $is_urgent, 'NotProvisioned', $now, $now,
       $traceparent
     FROM open WHERE $is_owners::bool OR live < ${liveOrdersMax}
     RETURNING id, registry_id, lane),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, note)
     SELECT id, $now, 'requested', 'NotProvisioned', $note::text FROM placed)
   SELECT id, live, ${wake("lane", "registry_id")}::text AS woken FROM placed CROSS JOIN open` as string,
  { id: "int8", live: "int8", woken: "text" },
);

/** Until enough orders of a kind have finished. */
const usualSecondsDefault = 2;
const usualSeconds = statement(
  "order-usual-seconds",
  `SELECT CASE WHEN count(*) < 20 THEN ${usualSecondsDefault} ELSE ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END::int4 AS seconds
   FROM (SELECT extract(epoch FROM ended_at - created_at) AS seconds FROM orders
         WHERE kind = $kind AND status = 'Finished' AND renewal_id IS NULL AND kind <> 'create' ORDER BY ended_at DESC LIMIT 100) AS recent`,
  { seconds: "int4" },
);

/** The errors of every use case that places an order. */
export const placeErrors = [
  "bad_request",
  "domain_not_valid",
  "domain_not_found",
  "order_limit_reached",
] as const satisfies readonly ErrorCode[];

/** The answers of every use case that places an order. */
export const placeAnswers: Docs["answers"] = {
  202: {
    description: "The order is accepted; `location` is its address.",
    headers: ["location", "check-after", "preference-applied?"],
  },
  200: {
    description: "The order has ended while the request waited (`Prefer: wait=N`).",
    body: orderShape,
    headers: ["location", "preference-applied"],
  },
};

/** What every order needs of its name. */
interface OrderedName {
  domain_name: string;
  registry_id: string;
}

export interface NewOrder<Name extends OrderedName = LockedName> {
  kind: Pick<OrderKind, "name" | "isUrgent" | "isPaid" | "isEachDone" | "isByField">;
  prefix: Exclude<OrderPrefix, "REG">;
  input: object;
  /** What the order sets but the database must not reveal; it is erased at the order's end. */
  secret?: Secret;
  /** Refuses the order, by what the locked name shows. @throws ApiError */
  check?(tx: Transaction, name: Name): Promise<void> | void;
  /** In place of the 202, for clients that know no orders. */
  answer?: Answer;
  /** The code of the caller's order that does the same already: it is the answer. */
  findSame?(tx: Transaction, name: Name): Promise<string | undefined>;
  /** What the order asks for in place of `input`, where that depends on the name. @throws ApiError */
  inputFor?(tx: Transaction, name: Name): Promise<object>;
}

/**
 * Places an order about the name in the request's path, which must be in the caller's portfolio.
 * @throws ApiError of `placeErrors`
 */
export function placeChange(context: Context, request: UseCaseRequest, wanted: NewOrder): Promise<Answer> {
  return placeOrder(context, request, wanted, async (tx, name) => {
    const [locked] = await tx.query(lockName, { name, reseller_id: request.caller.resellerId });
    if (!locked) throw new ApiError("domain_not_found");
    return locked;
  });
}

/**
 * The same for a name that is somewhere else.
 * @param lock finds the name, and locks it until the transaction ends; throws an ApiError if the caller may not order anything
 */
export async function placeOrder<Name extends OrderedName>(
  context: Context,
  request: UseCaseRequest,
  wanted: NewOrder<Name>,
  lock: (tx: Transaction, name: string) => Promise<Name>,
): Promise<Answer> {
  const name = parsePathName(request.params.domain_name ?? "");
  const { code, answer } = await context.database.transaction(async (tx) => {
    const [[usual], locked] = await Promise.all([tx.query(usualSeconds, { kind: wanted.kind.name }), lock(tx, name)]);
    await wanted.check?.(tx, locked);
    const same = await wanted.findSame?.(tx, locked);
    const placed = same ?? (await placeNew(context, tx, request, locked, wanted));
    const headers = {
      location: `${request.prefix}/orders/${placed}`,
      "check-after": checkAfter(usual?.seconds ?? usualSecondsDefault),
    };
    const answer = wanted.answer ?? { status: 202, headers };
    await request.commit(tx, answer);
    return { code: placed, answer };
  });
  if (request.waitSeconds === 0 || wanted.answer) return answer;
  return awaitOrder(context, request, code, answer);
}

async function placeNew<Name extends OrderedName>(
  context: Context,
  tx: Transaction,
  { caller: { resellerId, keyId }, traceparent }: UseCaseRequest,
  locked: Name,
  wanted: NewOrder<Name>,
): Promise<string> {
  const { kind, prefix } = wanted;
  const code = newOrderCode(context.random, prefix);
  const asked = { ...wanted, input: (await wanted.inputFor?.(tx, locked)) ?? wanted.input };
  const isKept = kind.isUrgent || kind.isEachDone;
  const input = isKept ? asked.input : await replaceUnsent(context, tx, locked, asked, code);
  const secretSealed = wanted.secret && context.sealer.seal(secretRow(code), wanted.secret);
  const note = `by key ${keyId}`;
  await insertOrder(context, tx, locked, {
    code,
    resellerId,
    kind,
    input,
    secretSealed,
    note,
    traceparent: traceparent(),
  });
  return code;
}

export interface InsertedOrder {
  code: string;
  resellerId: number;
  kind: Pick<OrderKind, "name" | "isUrgent" | "isPaid">;
  input: object;
  /** Under `secretRow` of the code. */
  secretSealed?: Buffer | undefined;
  note: string | null;
  /** Of the request that orders it. */
  traceparent?: string | null;
  /** Placed by the registry's owner: the limit is for what resellers order. */
  isOwners?: true;
}

/** Inserts an order into the transaction that decides about it. @throws ApiError `order_limit_reached` */
export async function insertOrder(
  { clock }: Pick<Context, "clock">,
  tx: Transaction,
  { domain_name: name, registry_id }: OrderedName,
  { code, resellerId, kind, input, secretSealed, note, traceparent = null, isOwners }: InsertedOrder,
): Promise<void> {
  const counted = { reseller_id: resellerId, is_urgent: kind.isUrgent };
  const insert = tx.query(insertPlaced, {
    ...counted,
    code,
    name,
    registry_id,
    kind: kind.name,
    input,
    secret_sealed: secretSealed ?? null,
    note,
    traceparent,
    is_owners: isOwners === true,
    now: clock.now(),
  });
  const [[placed]] = await Promise.all([insert, kind.isPaid && countPaidOrder({ clock }, tx, resellerId)]);
  if (!placed) throw tooManyOpen();
  if (isOwners || placed.live < uncontendedOrdersMax) return;
  await lockReseller(tx, resellerId);
  const [open] = await tx.query(countLive, counted);
  if (!open || open.live > liveOrdersMax) throw tooManyOpen();
}

function tooManyOpen(): ApiError {
  return new ApiError("order_limit_reached", { headers: { "retry-after": String(limitRetrySeconds) } });
}

/** Ends orders of the kind that were not sent yet: the newer one counts. @returns what the new order asks for */
async function replaceUnsent<Name extends OrderedName>(
  { clock }: Context,
  tx: Transaction,
  { domain_name: name }: Name,
  { kind, input }: NewOrder<Name>,
  code: string,
): Promise<object> {
  const unsent = await tx.query(lockUnsent, { name, kind: kind.name satisfies KindName });
  if (unsent.length === 0) return input;
  const ids = unsent.map(({ id }) => id);
  await tx.query(supersede, { ids, reason: `superseded by ${code}`, now: clock.now() });
  return kind.isByField ? Object.assign({}, ...unsent.map(({ input: earlier }) => earlier), input) : input;
}
