/** Registration orders in the database: how to read them, and what writing an order adds to writing any change. */
import type { Context } from "#context.ts";
import { itemsText } from "#db/batch.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type ChangeContext,
  type ChangeTable,
  longestWaitMs,
  type Outcome,
  type StepCopy,
} from "#domains/orders/change.ts";
import { dueRows, wake } from "#domains/orders/due.ts";
import { placeFollowUps } from "#domains/orders/follow-up.ts";
import { placeLocks } from "#domains/orders/lock-new-names.ts";
import { type OrderEvent, orderPhases, orderStates, orderStatuses } from "#domains/orders/states.ts";
import { createWriter } from "#domains/orders/write.ts";
import { enterPortfolio } from "#domains/portfolio/rows.ts";
import type { Handles, ShownDomain } from "#domains/portfolio/shown.ts";
import { attemptsOf, parseAttempts } from "#domains/registry/ask.ts";
import { holdCreatesStopped, isPausedForCredit } from "#domains/registry/pause.ts";
import type { Secret } from "#lib/secret.ts";

/** The context under which an order's authInfo is sealed: it opens in no other row. */
export const authInfoRow = (orderCode: string) => `registration_orders.auth_info/${orderCode}`;

/** The same for its allocation token (RFC 8495). */
export const allocationTokenRow = (orderCode: string) => `registration_orders.allocation_token/${orderCode}`;

const columns = {
  id: "int8",
  version: "int8",
  order_code: "text",
  reseller_id: "int8",
  domain_name: "text",
  registry_id: "text",
  period_years: "int4",
  auth_info_sealed: "bytea?",
  allocation_token_sealed: "bytea?",
  status: orderStatuses,
  phase: [...orderPhases, null],
  verify_cause: ["lost", "exists", "created", null],
  confirm_after: "timestamptz?",
  contact_renewed: "bool",
  backoff_count: "int4",
  waiting_since: "timestamptz?",
  next_step_at: "timestamptz?",
  created_at: "timestamptz",
  reason: "text?",
  operator_note: "text?",
  cancel_requested_at: "timestamptz?",
  settle_as: ["registered", "failed", "failed-forced", null],
  settle_note: "text?",
  fee_amount: "numeric?",
  fee_currency: "text?",
  checked_at: "timestamptz?",
  will_renew: "bool",
  name_servers: "jsonb",
  later_name_servers: "jsonb?",
  later_order_code: "text?",
  contacts: "jsonb?",
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
     (SELECT xmin::text FROM reseller_profiles AS profile WHERE profile.reseller_id = o.reseller_id) AS profile_version,
     ${attemptsOf("order_id", "o.id")} AS attempts
   FROM asked JOIN registration_orders AS o ON o.id = asked.id AND o.id = ANY (ARRAY(SELECT id FROM asked))
     LEFT JOIN registries AS registry ON registry.id = o.registry_id`,
  {
    item: "int4",
    ...columns,
    /** The end of the registry's maintenance, during maintenance. */
    maintenance_until: "timestamptz?",
    /** Creates are paused until an operator helps. */
    are_creates_stopped: "bool",
    /** Of the reseller's profile: changes whenever the profile does. */
    profile_version: "text?",
    attempts: "jsonb",
  },
);
type OrderRow = NonNullable<(typeof ordersById)["row"]>;

const orderIdByCode = statement("order-id-by-code", "SELECT id FROM registration_orders WHERE order_code = $code", {
  id: "int8",
});

export interface Order extends StepCopy<OrderRow> {
  /** The contacts that this step's create names; they are not stored with the order. */
  handles?: Handles | undefined;
}

/** The authInfo of an order that has not ended. */
export function authInfoOf({ sealer }: Pick<Context, "sealer">, { order_code, auth_info_sealed }: Order): Secret {
  if (auth_info_sealed === null) throw new Error("the authInfo of an order is erased at its end");
  return sealer.open(authInfoRow(order_code), auth_info_sealed);
}

/** The allocation token of an order that has not ended, if it was given one. */
export function allocationTokenOf(
  { sealer }: Pick<Context, "sealer">,
  { order_code, allocation_token_sealed: sealed }: Order,
): Secret | undefined {
  return sealed === null ? undefined : sealer.open(allocationTokenRow(order_code), sealed);
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

/** The outcome of an order's step, with everything that is written with it. */
export interface OrderOutcome extends Outcome<OrderEvent> {
  registered?: Registered | undefined;
  contactRenewed?: boolean;
  /** The order waits because creates at the registry are stopped. If they have been resumed, nothing is written. */
  whileCreatesStopped?: boolean;
  /**
   * Pauses creates for lack of credit, once this is written. `createsDone` is their count when the registry refused: a create
   * that was done since shows that there is credit again.
   */
  pauseForCredit?: { reason: string; createsDone: number };
}

const orderWriter = createWriter({
  table: "registration_orders",
  name: "order",
  columns: `contact_renewed bool, waiting_since timestamptz, operator_note text, cancel_requested_at timestamptz,
    settle_as text, settle_note text`,
  values: `registered_at timestamptz, expires_at timestamptz, domain_status text, will_renew bool, delegation jsonb,
    handles jsonb, later_code text, later_input jsonb`,
  // While only an operator can help, the registry would refuse one order after the other, and each would end.
  beginGuard: `(change.command <> 'domain:create' OR NOT EXISTS (SELECT FROM registries AS registry
     WHERE registry.id = row.registry_id AND NOT ${isPausedForCredit("registry")}))`,
  effects: [
    `registered AS (${enterPortfolio("written WHERE registered_at IS NOT NULL ORDER BY item")})`,
    ...placeFollowUps(
      "later",
      `(SELECT later_code AS code, reseller_id, domain_name, registry_id, 'nameservers' AS kind, later_input AS input, at,
        at AS due_at FROM written WHERE later_code IS NOT NULL) AS followed`,
    ),
    ...placeLocks(
      "(SELECT id, code, domain_name, registry_id, reseller_id, at FROM written WHERE registered_at IS NOT NULL)",
    ),
  ],
  signal: `concat(CASE WHEN events <> '[]' THEN pg_notify('order_changed', code)::text END,
     CASE WHEN later_code IS NOT NULL THEN ${wake("change", "registry_id")}::text END,
     (SELECT ${wake("change", "locks.registry_id")}::text FROM locks WHERE locks.domain_name = written.domain_name),
     CASE WHEN registered_at IS NOT NULL AND EXISTS (SELECT FROM registries AS registry
       WHERE registry.id = written.registry_id AND ${isPausedForCredit("registry")}) THEN 'paused for credit' END)`,
});

export const dueOrders = dueRows({ table: "registration_orders", name: "order", longestWaitMs });

export const orderTable: ChangeTable<Order, OrderOutcome> = {
  states: orderStates,
  writer: orderWriter,
  find: findOrder,
  // These begin the next attempt.
  keepsBackoff: new Set<OrderEvent>(["resumed", "available"]),

  after: (order, { event, contactRenewed, operatorNote, isFree }, _to, now) => ({
    contact_renewed: contactRenewed ?? order.contact_renewed,
    waiting_since: event === "out-of-credit" ? (order.waiting_since ?? now) : order.waiting_since,
    // An event that is written with the next one neither raises nor resolves an alarm.
    operator_note: operatorNote ?? (isFree ? order.operator_note : null),
  }),

  values(order, { registered }, to) {
    if (to !== "Finished") return {};
    if (!registered) throw new Error("an order can only finish with its registration's dates");
    const { registeredAt, expiresAt, status, nameServers, handles } = registered;
    return {
      registered_at: registeredAt,
      expires_at: expiresAt,
      domain_status: status,
      will_renew: order.will_renew,
      delegation: nameServers,
      handles,
      later_code: order.later_order_code,
      later_input: order.later_name_servers && { name_servers: order.later_name_servers },
    };
  },

  // The alarm stays open until an outcome needs no operator.
  alarms({ order_code: subject, operator_note }, { operatorNote: note }) {
    if (note !== undefined) return [{ kind: "order", subject, note }];
    return operator_note === null ? [] : [{ kind: "order", subject }];
  },

  hold({ registry_id }, { whileCreatesStopped }) {
    return whileCreatesStopped ? (tx) => holdCreatesStopped(tx, registry_id) : undefined;
  },
};

/** @param tx reads it in this transaction */
export async function findOrder(
  { database, clock }: ChangeContext,
  id: number,
  tx?: Transaction,
): Promise<Order | undefined> {
  const item = { id, at: clock.now() };
  const [row] = await (tx ? tx.query(ordersById, { items: itemsText([item]) }) : database.batched(ordersById, item));
  return row && { ...row, attempts: parseAttempts(row.attempts), unwritten: [] };
}

export async function findOrderByCode(context: ChangeContext, code: string): Promise<Order | undefined> {
  const [row] = await context.database.query(orderIdByCode, { code });
  return row && findOrder(context, row.id);
}

/** What an operator's commands need of a context. */
export type OrderContext = Pick<Context, "database" | "clock" | "log">;
