/** What an operator sees of renewals, and the request to run one now. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { isSent } from "#domains/orders/follow-up.ts";
import { attemptColumns, type OrderContext, selectAttempts } from "#domains/orders/order.ts";
import { wakeAll } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import { rescheduleRenewal } from "#domains/schedule/renewals.ts";
import {
  isRenewalOver,
  type LiveRenewalState,
  type RenewalState,
  type RenewalStatus,
  renewalPhases,
  renewalState,
  renewalStatuses,
} from "#domains/schedule/states.ts";
import { OperatorError } from "#operator-error.ts";

/** SQL: the order that a renewal has placed last. */
const latestOrder = `LEFT JOIN LATERAL (
     SELECT id, order_code, status, reason, found, backoff_count, next_step_at, ended_at
     FROM orders WHERE orders.renewal_id = r.id ORDER BY id DESC LIMIT 1) AS placed ON true`;

const renewals = statement(
  "operator-renewals",
  `SELECT renewal_code, r.domain_name, reseller.name AS reseller, r.registry_id AS registry, term_ends_at, due_at,
     domains.will_renew, r.status, placed.order_code, CASE WHEN r.ended_at IS NULL THEN coalesce(placed.reason, r.reason) ELSE r.reason END AS reason,
     alarms.since AS alarm_since
   FROM renewals AS r JOIN resellers AS reseller ON reseller.id = r.reseller_id
     LEFT JOIN domains ON domains.renewal_id = r.id
     LEFT JOIN alarms ON alarms.kind = 'renewal' AND alarms.subject = r.domain_name AND resolved_at IS NULL
       AND r.ended_at IS NULL
     ${latestOrder}
   WHERE CASE WHEN $status::text IS NULL THEN r.ended_at IS NULL ELSE r.status = $status END
     AND ($reseller_id::int8 IS NULL OR r.reseller_id = $reseller_id)
     AND ($ends_by::timestamptz IS NULL OR term_ends_at <= $ends_by)
   ORDER BY term_ends_at, r.domain_name LIMIT $rows_max`,
  {
    renewal_code: "text",
    domain_name: "text",
    reseller: "text",
    registry: "text",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    will_renew: "bool?",
    status: renewalStatuses,
    order_code: "text?",
    reason: "text?",
    alarm_since: "timestamptz?",
  },
);

const latestRenewal = statement(
  "operator-renewal",
  `SELECT r.id, renewal_code, r.domain_name, reseller.name AS reseller, r.registry_id AS registry, r.status,
     r.phase, term_ends_at, due_at, placed.order_code, placed.status AS order_status,
     placed.ended_at IS NULL AND placed.id IS NOT NULL AS is_order_live,
     (placed.found ->> 'base_ex_date')::timestamptz AS base_ex_date, renewed_until,
     coalesce(placed.backoff_count, r.backoff_count) AS failed_tries,
     CASE WHEN placed.ended_at IS NULL THEN coalesce(placed.next_step_at, r.next_step_at) ELSE r.next_step_at END AS next_step_at,
     CASE WHEN r.ended_at IS NULL THEN coalesce(placed.reason, r.reason) ELSE r.reason END AS reason, alarms.note AS alarm
   FROM renewals AS r JOIN resellers AS reseller ON reseller.id = r.reseller_id
     LEFT JOIN alarms ON alarms.kind = 'renewal' AND alarms.subject = r.domain_name AND resolved_at IS NULL
       AND r.ended_at IS NULL
     ${latestOrder}
   WHERE r.domain_name = $domain_name ORDER BY r.id DESC LIMIT 1`,
  {
    id: "int8",
    renewal_code: "text",
    domain_name: "text",
    reseller: "text",
    registry: "text",
    status: renewalStatuses,
    phase: [...renewalPhases, null],
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    order_code: "text?",
    order_status: "text?",
    is_order_live: "bool",
    base_ex_date: "timestamptz?",
    renewed_until: "timestamptz?",
    failed_tries: "int4",
    next_step_at: "timestamptz",
    reason: "text?",
    alarm: "text?",
  },
);

const nameNow = statement(
  "operator-renewal-name",
  `SELECT expiration_date, registry_ex_date, will_renew, domains.renewal_id, ${isSent} AS is_sent,
     coalesce(placed.next_step_at, renewal.next_step_at) AS next_step_at, placed.id AS order_id
   FROM domains LEFT JOIN renewals AS renewal ON renewal.id = renewal_id
     LEFT JOIN orders AS placed ON placed.renewal_id = renewal.id AND placed.ended_at IS NULL
   WHERE domains.domain_name = $domain_name`,
  {
    expiration_date: "timestamptz",
    registry_ex_date: "timestamptz",
    will_renew: "bool",
    renewal_id: "int8?",
    is_sent: "bool?",
    next_step_at: "timestamptz?",
    order_id: "int8?",
  },
);

const renewalHistory = statement(
  "operator-renewal-history",
  `SELECT at, event, status, phase, note FROM (
     SELECT at, event, status, phase, note, 1 AS place, id FROM renewal_history WHERE renewal_id = $renewal_id
     UNION ALL
     SELECT at, event, history.status, history.phase, note, 2, history.id
     FROM order_history AS history JOIN orders ON orders.id = order_id WHERE orders.renewal_id = $renewal_id
     UNION ALL
     SELECT at, event, NULL, NULL, note, 3, id FROM domain_history
     WHERE domain_name = $domain_name AND event IN ('will-renew-on', 'will-renew-off')) AS told
   ORDER BY at, place, id`,
  { at: "timestamptz", event: "text", status: "text?", phase: "text?", note: "text?" },
);

const renewalAttempts = statement(
  "operator-renewal-attempts",
  `${selectAttempts}
   WHERE cl_trid = ANY (ARRAY(
     SELECT cl_trid FROM orders JOIN attempts ON order_id = orders.id WHERE renewal_id = $renewal_id))
   ORDER BY committed_at, number`,
  attemptColumns,
);

// While a command's answer is lost and no look has failed since, its settle time runs.
const orderUnsettled = statement(
  "scheduled-order-unsettled",
  `SELECT FROM orders WHERE id = $id AND phase = 'verify' AND verify_cause = 'lost' AND backoff_count = 0
     AND operator_note IS NULL`,
  {},
);

const isUnsettled = async (tx: Transaction, orderId: number | null) =>
  orderId === null || (await tx.query(orderUnsettled, { id: orderId })).length > 0;

const moveOrder = statement(
  "scheduled-order-move-step",
  `WITH moved AS (UPDATE orders SET next_step_at = $now WHERE id = $id AND ended_at IS NULL RETURNING lane, registry_id)
   ${wakeAll("moved")}`,
  { notified: "int8" },
);

export interface RenewalFilter {
  /** By default: all that have not ended. */
  status?: RenewalStatus | undefined;
  resellerId?: number | undefined;
  /** Only terms that end within this many days. */
  days?: number | undefined;
  limit: number;
}

/** By the end of the term. */
export async function reportRenewals(context: OrderContext, { status, resellerId, days, limit }: RenewalFilter) {
  const endsBy = days === undefined ? null : addDays(context.clock.now(), days);
  return context.database.query(renewals, {
    status: status ?? null,
    reseller_id: resellerId ?? null,
    ends_by: endsBy,
    rows_max: limit,
  });
}

/** The name, its latest renewal with history and attempts, and the next step. @throws OperatorError */
export async function reportRenewal({ database }: OrderContext, domainName: string) {
  const [name] = await database.query(nameNow, { domain_name: domainName });
  const [renewal] = await database.query(latestRenewal, { domain_name: domainName });
  if (!renewal) {
    if (!name) throw new OperatorError("not-found", `no portfolio has, or had, ${domainName}`);
    const { expiration_date, registry_ex_date, will_renew } = name;
    const dates = { expiration_date, registry_ex_date, will_renew };
    return { domain_name: domainName, ...dates, next: notDue, history: [], attempts: [] };
  }
  const { id, is_order_live: isOrderLive, order_code, next_step_at: nextStepAt, ...shown } = renewal;
  const { expiration_date = null, registry_ex_date = null, will_renew = null } = name ?? {};
  return {
    ...shown,
    order_code,
    next_step_at: nextStepAt,
    expiration_date,
    registry_ex_date,
    will_renew,
    next: describeNext(renewalState({ ...renewal, verify_cause: null }), nextStepAt, isOrderLive ? order_code : null),
    history: await database.query(renewalHistory, { renewal_id: id, domain_name: domainName }),
    attempts: await database.query(renewalAttempts, { renewal_id: id }),
  };
}

const notDue = "nothing: the term ends too far in the future; a renewal is scheduled some weeks before it is due";

const stepDescriptions: Record<LiveRenewalState, string> = {
  Scheduled: "it is due",
  "Processing (renew)": "a renew is ordered",
  Attention: "it is retried; an operator should look meanwhile",
  "Lapsing (wait)": "the registry is asked whether it has renewed or removed the name",
  "Lapsing (delete)": "a delete is ordered, because the registry renewed the name automatically",
};

function describeNext(state: RenewalState, at: Date, liveOrder: string | null): string {
  if (isRenewalOver(state)) return "nothing: it has ended";
  if (liveOrder !== null)
    return `at ${at.toISOString()}: its order continues: deedhouse operator orders show ${liveOrder}`;
  return `at ${at.toISOString()}: ${stepDescriptions[state as LiveRenewalState]}`;
}

/** Makes a renewal's next step due now, even before its due date. @throws OperatorError when there is none */
export async function runRenewal(context: OrderContext, domainName: string): Promise<void> {
  await context.database.transaction(async (tx) => {
    const [name] = await tx.query(nameNow, { domain_name: domainName });
    if (!name) throw new OperatorError("not-found", `no portfolio has ${domainName}`);
    if (name.renewal_id === null) throw new OperatorError("refused", notDue);
    if (name.is_sent && (await isUnsettled(tx, name.order_id))) {
      const until = name.next_step_at?.toISOString();
      throw new OperatorError(
        "refused",
        `an answer was lost, and nothing is believed before ${until}: it continues then`,
      );
    }
    const now = context.clock.now();
    if (name.order_id === null) await rescheduleRenewal(tx, name.renewal_id, now);
    else await tx.query(moveOrder, { id: name.order_id, now });
  });
}
