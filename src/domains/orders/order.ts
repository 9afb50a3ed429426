/** An order, its attempts (the commands that it has sent), and the outcome of a step of it: what all of src/domains/orders/ shares. */
import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import type { Transaction } from "#db/database.ts";
import { type RowOf, statement } from "#db/statement.ts";
import { type OrderEvent, orderPhases, orderState, orderStates, orderStatuses } from "#domains/orders/states.ts";
import type { Departure, Handles, ShownDomain } from "#domains/portfolio/rows.ts";
import { isPausedForCredit } from "#domains/registry/pause.ts";
import type { OwnerContext, OwnerLease } from "#domains/registry/sessions.ts";
import { columnsOf } from "#progress/state-table.ts";

/** A command of an order. Its row is committed before its first byte is written. */
export interface Attempt {
  command: string;
  committed_at: Date;
  /** Null while the command may still be executed. */
  answered_at: Date | null;
  result_code: number | null;
  /** The epoch of the owner that sent it. */
  epoch: number;
}

/** SQL: an order's attempts as JSON. @param id SQL */
const attemptsOf = (id: string) => `
  coalesce((SELECT jsonb_agg(jsonb_build_object('command', command, 'committed_at', committed_at,
       'answered_at', answered_at, 'result_code', result_code, 'epoch', epoch) ORDER BY number)
     FROM attempts WHERE attempts.order_id = ${id}), '[]')`;

type AttemptJson = Omit<Attempt, "committed_at" | "answered_at"> & { committed_at: string; answered_at: string | null };

function parseAttempts(json: unknown): Attempt[] {
  return (json as AttemptJson[]).map(({ committed_at, answered_at, ...rest }) => ({
    ...rest,
    committed_at: new Date(committed_at),
    answered_at: answered_at === null ? null : new Date(answered_at),
  }));
}

/** Attempts that may still be executed. */
export const unansweredAttempts = (attempts: readonly Attempt[]) =>
  attempts.filter(({ answered_at }) => answered_at === null);

/** The attempts of an order that must be decided before its next command is sent. */
export const countedAttempts = (
  { attempts }: { attempts: readonly Attempt[] },
  { mayRepeatPreparation }: { mayRepeatPreparation?: true },
) => (mayRepeatPreparation ? attempts.filter(({ command }) => command.startsWith("domain:")) : attempts);

export const ofCommand = (attempts: readonly Attempt[], command: string) =>
  attempts.filter((attempt) => attempt.command === command);

/** Attempts that an earlier owner may have sent. */
export const ofEarlierOwners = (attempts: readonly Attempt[], { lease }: OwnerContext) =>
  attempts.filter(({ epoch }) => epoch !== lease.epoch);

/** What an operator sees of attempts. */
export const selectAttempts = "SELECT cl_trid, command, committed_at, answered_at, result_code, sv_trid FROM attempts";
export const attemptColumns = {
  cl_trid: "text",
  command: "text",
  committed_at: "timestamptz",
  answered_at: "timestamptz?",
  result_code: "int4?",
  sv_trid: "text?",
} as const;

/** The names of the kinds, as `GET /orders` shows them; `create` is a registration. */
export const kindNames = [
  "create",
  "auth-code",
  "contacts",
  "delete",
  "dnssec",
  "nameservers",
  "renew",
  "restore",
  "transfer-answer",
  "transfer-lock",
] as const;
export type KindName = (typeof kindNames)[number];

/** The context under which an order's secret is sealed: it opens in no other row, except that of the auth code that it set. */
export const secretRow = (orderCode: string) => `orders.secret/${orderCode}`;

/** What an operator's commands need of a context. */
export type OrderContext = Pick<Context, "database" | "clock" | "log">;

/** What writing an order needs. An operator's command has no lease. */
export interface WriteContext extends OrderContext {
  lease?: OwnerLease;
}

/** The order has changed since it was read: read it again. */
export class OrderConflict extends Error {
  override name = "OrderConflict";
}

const columns = {
  id: "int8",
  /** Each change of the row increments it; a write applies only to the version that was read. */
  version: "int8",
  order_code: "text",
  reseller_id: "int8",
  domain_name: "text",
  registry_id: "text",
  kind: kindNames,
  input: "jsonb",
  found: "jsonb",
  secret_sealed: "bytea?",
  is_urgent: "bool",
  status: orderStatuses,
  phase: [...orderPhases, null],
  verify_cause: ["answered", "lost", null],
  confirm_after: "timestamptz?",
  backoff_count: "int4",
  disputes: "int4",
  waiting_since: "timestamptz?",
  /** Null once it has ended. */
  next_step_at: "timestamptz?",
  created_at: "timestamptz",
  reason: "text?",
  operator_note: "text?",
  cancel_requested_at: "timestamptz?",
  settle_as: ["done", "failed", "failed-forced", null],
  settle_note: "text?",
  /** The term for which the schedule has placed it. */
  renewal_id: "int8?",
} as const;

const read = {
  item: "int4",
  ...columns,
  /** The end of the registry's maintenance, during maintenance. */
  maintenance_until: "timestamptz?",
  /** Creates are paused until an operator helps. */
  are_creates_stopped: "bool",
  /** Creates are paused until there is credit again. */
  is_out_of_credit: "bool",
  /** Of the reseller's profile: changes whenever the profile does. */
  profile_version: "text?",
  /** Whether the name belongs to the reseller who has ordered it. */
  is_in_portfolio: "bool",
  expiration_date: "timestamptz?",
  registry_ex_date: "timestamptz?",
  /** When the registry first showed that the name is not ours any more. */
  gone_since: "timestamptz?",
  attempts: "jsonb",
} as const;

// Orders that begin at the same moment are read together. ANY, because a join alone may read all orders while the table is small.
const ordersById = statement(
  "orders-by-id",
  `WITH asked AS MATERIALIZED (
     SELECT item, id, at FROM jsonb_to_recordset($items::jsonb) AS asked(item int4, id int8, at timestamptz))
   SELECT asked.item, ${Object.keys(columns).map((column) => `o.${column}`)},
     CASE WHEN registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at
       THEN registry.maintenance_until END AS maintenance_until,
     coalesce(NOT ${isPausedForCredit("registry")}, false) AS are_creates_stopped,
     coalesce(${isPausedForCredit("registry")}, false) AS is_out_of_credit,
     (SELECT xmin::text FROM reseller_profiles AS profile
      WHERE profile.reseller_id = o.reseller_id AND o.kind = 'create') AS profile_version,
     name.domain_name IS NOT NULL AS is_in_portfolio, name.expiration_date, name.registry_ex_date, name.gone_since,
     ${attemptsOf("o.id")} AS attempts
   FROM asked JOIN orders AS o ON o.id = asked.id AND o.id = ANY (ARRAY(SELECT id FROM asked))
     LEFT JOIN registries AS registry ON registry.id = o.registry_id
     LEFT JOIN domains AS name ON name.domain_name = o.domain_name AND name.reseller_id = o.reseller_id`,
  read,
);

const orderIdByCode = statement("order-id-by-code", "SELECT id FROM orders WHERE order_code = $code", { id: "int8" });

/** An event of an order's history. */
export interface WrittenEvent {
  event: string;
  status: string;
  phase: string | null;
  note: string | null;
}

type StoredOrder = RowOf<typeof read>;

/** A step has its own copy, which it may change. */
export type Order = { -readonly [Column in keyof Omit<StoredOrder, "attempts" | "item">]: StoredOrder[Column] } & {
  attempts: Attempt[];
  /** Events that the next write includes: nothing outside depends on them yet. */
  unwritten: WrittenEvent[];
  /** What the registry showed in this step; it is not stored with the order. */
  shown?: ShownDomain | undefined;
  /** The contacts that this step's create names; they are not stored with the order. */
  handles?: Handles | undefined;
};

/** Of a registration: what a message has said about its last create, and when (src/domains/messages/wake-order.ts). */
export interface FoundDecision {
  decision?: { is: "approved" | "denied"; at: string; message_id: string } | undefined;
}

/** Of a registration: what a lookup has found out about the name: somebody has it, perhaps we do. */
export interface FoundExisting {
  exists?: true;
}

/** How a registry's answer, or its absence, ends an attempt. */
export interface AttemptResult {
  clTrid: string;
  resultCode: number | null;
  svTrid: string | null;
  /** False while the command may have been executed nevertheless. */
  isClosed: boolean;
}

/** What a name's registration brought, for the domain's row. */
export interface Registered {
  registeredAt: Date;
  expiresAt: Date;
  status: string;
  nameServers: ShownDomain["name_servers"];
  /** Absent where the contacts are the reseller's profile alone. */
  handles: Handles | undefined;
}

/** What the end of an order writes besides the order and what `<info>` showed. */
export interface OrderEnd {
  /** The name enters the portfolio. */
  registered?: Registered;
  /** Of a registration that an operator wanted to cancel: the name stays nevertheless. */
  isKept?: true;
  /** The end of the name's new term. */
  renewedUntil?: Date;
  /** How the name has left the portfolio. */
  departure?: Departure;
  /** The dates of a name that comes back to the portfolio. */
  returned?: { registeredAt: Date; expiresAt: Date };
  /** What the reseller can do now: `next` of the order. */
  next?: string;
  /** The note of an alarm about dates. */
  alarm?: string;
}

/** The outcome of a step, with everything that is written with it. */
export interface Outcome {
  /** Without one the order only waits until `nextStepAt`. */
  event?: OrderEvent | undefined;
  /** Nothing outside depends on it yet: it is written with the next outcome. */
  isFree?: true;
  /** When the next step is due; by default at once. */
  nextStepAt?: Date | undefined;
  attempt?: AttemptResult | undefined;
  reason?: string | undefined;
  /** The time of the second lookup, which decides. */
  confirmAfter?: Date | undefined;
  /** Counts a failure, for the backoff. */
  countsAsFailure?: boolean | undefined;
  /** Raises an alarm with this note. */
  operatorNote?: string | undefined;
  /** What `<info>` showed: the domain's row takes it over. */
  shown?: ShownDomain | undefined;
  /** Only of an order that is done. */
  end?: OrderEnd | undefined;
  /** The registry refused the command in a way that a fresh `<info>` may explain. */
  isDispute?: boolean;
  /** Locks what the outcome depends on until the transaction ends. @returns whether it still holds */
  holds?: ((tx: Transaction) => Promise<boolean>) | undefined;
  /** Called once it is written. */
  after?: (() => Promise<void>) | undefined;
}

/** These are steps of the next attempt: they do not reset the count of failures. */
const keepsBackoff = new Set<OrderEvent>(["prepared", "next", "pending", "unanswered"]);
/** The registry has a name for a registration: from then on it cannot be cancelled without a look. */
const seenEvents = new Set<OrderEvent>(["pending", "unwanted"]);
/** The registry took a command: the order's next command gets all the time again. */
const takenEvents = new Set<OrderEvent>(["prepared", "answered", "pending"]);

/** The order after an outcome; nothing is written. @throws when its state has no such event */
export function applyEvent(order: Order, outcome: Outcome, now: Date): Order {
  const { event, nextStepAt = now, reason, operatorNote, countsAsFailure = false, isFree, end } = outcome;
  if (event === undefined) return { ...order, next_step_at: nextStepAt };
  const from = orderState(order);
  const to = orderStates.next(from, event)?.to;
  if (to === undefined) throw new Error(`the state ${from} has no event ${event}`);
  const columns = columnsOf(to) as Pick<Order, "status" | "phase" | "verify_cause">;
  const { status, phase } = columns;
  const failures = order.backoff_count + (countsAsFailure ? 1 : 0);
  return {
    ...order,
    ...columns,
    confirm_after: outcome.confirmAfter ?? null,
    next_step_at: isFree ? order.next_step_at : nextStepAt,
    backoff_count: countsAsFailure || keepsBackoff.has(event) ? failures : 0,
    disputes: order.disputes + (outcome.isDispute ? 1 : 0),
    waiting_since: countsAsFailure ? (order.waiting_since ?? now) : takenEvents.has(event) ? null : order.waiting_since,
    reason: reason ?? order.reason,
    // An event that is written with the next one neither raises nor resolves an alarm.
    operator_note: operatorNote ?? (isFree ? order.operator_note : null),
    found: {
      ...(order.found as object),
      ...(end?.next !== undefined && { next: end.next }),
      ...(order.kind === "create" && seenEvents.has(event) && ({ exists: true } satisfies FoundExisting)),
    },
    unwritten: [...order.unwritten, { event, status, phase, note: operatorNote ?? reason ?? null }],
  };
}

/** @param tx reads it in this transaction @returns nothing when there is no such order */
export async function findOrder(
  { database, clock }: WriteContext,
  id: number,
  tx?: Transaction,
): Promise<Order | undefined> {
  const item = { id, at: clock.now() };
  const [row] = await (tx ? tx.query(ordersById, { items: itemsText([item]) }) : database.batched(ordersById, item));
  return row && { ...row, attempts: parseAttempts(row.attempts), unwritten: [] };
}

export async function findOrderByCode(context: WriteContext, code: string): Promise<Order | undefined> {
  const [row] = await context.database.query(orderIdByCode, { code });
  return row && findOrder(context, row.id);
}

/** Whether an order can be cancelled at once, because nothing that it has sent can change the name. */
export function mayBeCancelled({ attempts, found, kind, ...state }: Order): boolean {
  if (orderStates.next(orderState(state), "cancel") === undefined) return false;
  if (kind !== "create") return unansweredAttempts(attempts).length === 0;
  // The name may be registered for us: then it has to be deleted.
  const isSent = attempts.some(
    ({ command, answered_at, result_code }) =>
      command === "domain:delete" ||
      (command === "domain:create" && (answered_at === null || result_code === 1000 || result_code === 1001)),
  );
  return !isSent && !(found as FoundExisting).exists;
}
