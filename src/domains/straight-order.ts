/**
 * The way that nearly every order goes: its name is free, its registrant is at the registry, and nothing stands in its
 * way. Then nothing has to be written between the claim and the create, so both transitions and the attempt row are one
 * statement; the create's answer and the end are another. Orders that go at the same time share them
 * (src/db/batch.ts). An order that meets anything else goes on step by step (steps.ts), from whatever was written.
 */
import { statement } from "#db/statement.ts";
import { findKnownContact } from "#domains/contact.ts";
import { createCommand, readCreate } from "#domains/create-step.ts";
import type { OrderHappening } from "#domains/orders.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry-sessions.ts";
import { sendBegun } from "#domains/send-once.ts";
import { nextOrderState, type OrderEvent, type OrderState, orderColumns } from "#domains/states.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool.ts";

const after = (from: OrderState, event: OrderEvent) => orderColumns(nextOrderState(from, event)!.to);
const claimed = after("NotProvisioned", "claimed");
const available = after("Processing (check)", "available");
const created = after("Processing (create)", "created");

// IS NOT DISTINCT FROM, here and below, because = would let PostgreSQL read the index of all live names, with those that
// lived since the last vacuum, in place of the asked orders' own rows; ANY, because a join alone may read them all.
const findStraight = statement(
  "orders-straight",
  `WITH asked AS MATERIALIZED (
     SELECT item, order_id, at FROM jsonb_to_recordset($1::jsonb) AS asked(item int4, order_id int8, at timestamptz))
   SELECT item, o.id, o.order_code, o.reseller_id, o.domain_name, o.period_years, o.auth_info_sealed, o.contact_renewed,
     o.waiting_since, o.fee_amount, o.fee_currency, o.checked_at, profile.xmin::text AS profile_version
   FROM asked JOIN registration_orders AS o ON o.id = asked.order_id AND o.id = ANY (ARRAY(SELECT order_id FROM asked))
   JOIN registries AS registry ON registry.id = o.registry_id
   JOIN reseller_profiles AS profile ON profile.reseller_id = o.reseller_id
   WHERE o.status IS NOT DISTINCT FROM 'NotProvisioned' AND o.next_step_at IS NULL
     AND o.cancel_requested_at IS NULL AND o.settle_as IS NULL AND o.operator_note IS NULL
     AND registry.creates_paused_reason IS NULL
     AND (registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at) IS NOT TRUE
     AND NOT EXISTS (SELECT FROM order_attempts AS attempt WHERE attempt.order_id = o.id)`,
  {
    item: "int4",
    id: "int8",
    order_code: "text",
    reseller_id: "int8",
    domain_name: "text",
    period_years: "int4",
    auth_info_sealed: "bytea",
    contact_renewed: "bool",
    waiting_since: "timestamptz?",
    fee_amount: "numeric?",
    fee_currency: "text?",
    checked_at: "timestamptz?",
    profile_version: "text",
  },
);
type StraightOrder = NonNullable<(typeof findStraight)["row"]>;

// A second owner cannot begin the same attempt: it would have the same number.
const beginCreates = statement(
  "orders-begin",
  `WITH change AS MATERIALIZED (
     SELECT item, order_id, cl_trid, command, at
     FROM jsonb_to_recordset($1::jsonb) AS c(item int4, order_id int8, cl_trid text, command text, at timestamptz)),
   begun AS (
     UPDATE registration_orders AS o SET status = '${available.status}', phase = '${available.phase}', updated_at = at
     FROM change
     WHERE o.id = change.order_id AND o.id = ANY (ARRAY(SELECT order_id FROM change))
       AND o.status IS NOT DISTINCT FROM 'NotProvisioned' AND o.cancel_requested_at IS NULL
     RETURNING o.id, o.order_code, change.item, change.cl_trid, change.command, change.at),
   attempts AS (
     INSERT INTO order_attempts (cl_trid, order_id, number, command, committed_at)
     SELECT cl_trid, id, 1, command, at FROM begun),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, phase)
     SELECT id, at, event, status, phase FROM begun, (VALUES
       (1, 'claimed', '${claimed.status}', '${claimed.phase}'),
       (2, 'available', '${available.status}', '${available.phase}')) AS happened(place, event, status, phase)
     ORDER BY item, place)
   SELECT item, pg_notify('order_changed', order_code)::text AS notified FROM begun`,
  { item: "int4", notified: "text" },
);

const finishOrders = statement(
  "orders-finish",
  `WITH change AS MATERIALIZED (
     SELECT item, order_id, cl_trid, result_code, sv_trid, registered_at, expires_at, domain_status, at
     FROM jsonb_to_recordset($1::jsonb) AS c(item int4, order_id int8, cl_trid text, result_code int4, sv_trid text,
       registered_at timestamptz, expires_at timestamptz, domain_status text, at timestamptz)),
   finished AS (
     UPDATE registration_orders AS o SET status = '${created.status}', phase = NULL, updated_at = at, ended_at = at,
       backoff_count = 0
     FROM change
     WHERE o.id = change.order_id AND o.id = ANY (ARRAY(SELECT order_id FROM change))
       AND o.status IS NOT DISTINCT FROM '${available.status}' AND o.phase = '${available.phase}'
       AND o.cancel_requested_at IS NULL
     RETURNING o.id, o.order_code, o.domain_name, o.reseller_id, o.registry_id, change.item),
   answered AS (
     UPDATE order_attempts AS attempt SET answered_at = at, result_code = change.result_code, sv_trid = change.sv_trid
     FROM change JOIN finished USING (item) WHERE attempt.cl_trid = change.cl_trid),
   registered AS (
     INSERT INTO domains (domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date,
       registry_ex_date, will_renew, status)
     SELECT domain_name, reseller_id, id, registry_id, registered_at, expires_at, expires_at, true, domain_status
     FROM change JOIN finished USING (item)),
   history AS (
     INSERT INTO order_history (order_id, at, event, status)
     SELECT id, at, 'created', '${created.status}' FROM change JOIN finished USING (item))
   SELECT item, pg_notify('order_changed', order_code)::text AS notified FROM finished`,
  { item: "int4", notified: "text" },
);

/**
 * Takes an order from its beginning to its end, if nothing stands in the way.
 * @returns "finished"; "not-straight" when it has to go step by step, from where it is now; or what happened to its create
 *   and is not written down yet, with the order in Processing (create)
 */
export async function goStraight(
  sessions: RegistrySessions,
  orderId: number,
): Promise<"finished" | "not-straight" | OrderHappening> {
  const { context, pool, profile } = sessions;
  const [order] = await context.database.together(findStraight, { order_id: orderId, at: context.clock.now() });
  if (!order || order.contact_renewed) return "not-straight";
  const isThick = profile.dataModel === "thick";
  const contactId = isThick ? await findKnownContact(sessions, order.reseller_id, order.profile_version) : undefined;
  if (isThick && contactId === undefined) return "not-straight";
  if (!(await isFree(sessions, order))) return "not-straight";
  const command = createCommand(sessions, order, contactId);
  const clTrid = `${order.order_code}-1`;
  const attempt = { order_id: order.id, cl_trid: clTrid, command: command.name, at: context.clock.now() };
  const begun = await context.database.together(beginCreates, attempt);
  if (begun.length === 0) return "not-straight";
  let lease: Lease;
  try {
    // The others in line are creates like this one: there is nothing better to do than to wait.
    lease = await pool.acquire("transform", { waitMs: profile.transformTimeoutMs });
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    const unsent = { clTrid, resultCode: null, svTrid: null, isClosed: true };
    return { event: "unreachable", attempt: unsent, countsAsFailure: true };
  }
  const happening = await readCreate(sessions, order, await sendBegun(sessions, lease, command, clTrid));
  return happening.event === "created" && (await finish(sessions, order, happening)) ? "finished" : happening;
}

/**
 * Whether there is a session to work with (row 2), and the name is free (row 4). The registry's answer to the request
 * serves here too, for as long as it is fresh: the create decides anyway. What else there is to know is for the steps.
 */
async function isFree({ context, pool, profile }: RegistrySessions, order: StraightOrder): Promise<boolean> {
  const checkedAt = order.checked_at?.getTime() ?? 0;
  try {
    if (context.clock.now().getTime() - checkedAt >= context.checkFreshMs) {
      return (await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs })).available;
    }
    (await pool.acquire("check", { waitMs: sessionWaitMs })).release();
    return true;
  } catch {
    return false;
  }
}

/** Returns false when something came between: then nothing is written. */
async function finish({ context }: RegistrySessions, { id }: StraightOrder, happening: OrderHappening) {
  const { attempt, registered } = happening;
  if (!attempt || !registered) throw new Error("an order can only finish with its create's answer");
  const finished = await context.database.together(finishOrders, {
    ...{ order_id: id, cl_trid: attempt.clTrid, result_code: attempt.resultCode, sv_trid: attempt.svTrid },
    ...{ registered_at: registered.registeredAt, expires_at: registered.expiresAt, domain_status: registered.status },
    at: context.clock.now(),
  });
  return finished.length > 0;
}
