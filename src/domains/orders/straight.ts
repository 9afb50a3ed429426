/**
 * The way that nearly every order goes: its name is free, its registrant is at the registry, and nothing stands in its
 * way. Then nothing has to be written between the claim and the create, so both transitions and the attempt row are one
 * statement, which reads the order too; the create's answer and the end are another. Orders that go at the same time share them
 * (src/db/batch.ts). An order that meets anything else goes on step by step (steps.ts), from whatever was written.
 */
import { statement } from "#db/statement.ts";
import { findKnownContact } from "#domains/orders/contact.ts";
import { createCommand, readCreate } from "#domains/orders/create-step.ts";
import type { OrderHappening } from "#domains/orders/orders.ts";
import { nextOrderState, type OrderEvent, type OrderState, orderColumns } from "#domains/orders/states.ts";
import { mayBegin } from "#domains/registry/owner-lease.ts";
import { isPausedForCredit, resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import { sendBegun } from "#domains/registry/send-once.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";

const after = (from: OrderState, event: OrderEvent) => orderColumns(nextOrderState(from, event)!.to);
const claimed = after("NotProvisioned", "claimed");
const available = after("Processing (check)", "available");
const created = after("Processing (create)", "created");

/**
 * SQL: claims orders and begins their creates. `change` is a CTE of (item, order_id, cl_trid, command, at, epoch); `begun`
 * then has those that were begun, with `notified`. A second owner cannot begin the same attempt: it would have the same number;
 * and one whose epoch is over begins none.
 */
const begunFrom = (change: string) => `
   begun AS (
     UPDATE registration_orders AS o SET status = '${available.status}', phase = '${available.phase}', updated_at = at
     FROM ${change} AS change
     WHERE o.id = change.order_id AND o.id = ANY (ARRAY(SELECT order_id FROM ${change}))
       AND o.status IS NOT DISTINCT FROM 'NotProvisioned' AND o.cancel_requested_at IS NULL
       AND ${mayBegin("o.registry_id", "change.epoch")}
     RETURNING o.id, o.order_code, change.item, change.cl_trid, change.command, change.at, change.epoch),
   attempts AS (
     INSERT INTO order_attempts (cl_trid, order_id, number, command, committed_at, epoch)
     SELECT cl_trid, id, 1, command, at, epoch FROM begun),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, phase)
     SELECT id, at, event, status, phase FROM begun, (VALUES
       (1, 'claimed', '${claimed.status}', '${claimed.phase}'),
       (2, 'available', '${available.status}', '${available.phase}')) AS happened(place, event, status, phase)
     ORDER BY item, place)`;

// IS NOT DISTINCT FROM, here and below, because = would let PostgreSQL read the index of all live names, with those that
// lived since the last vacuum, in place of the asked orders' own rows; ANY, because a join alone may read them all.
const findStraight = statement(
  "orders-straight",
  `WITH asked AS MATERIALIZED (
     SELECT item, order_id, at, command, epoch, fresh_since, reseller_id, profile_version
     FROM jsonb_to_recordset($1::jsonb) AS asked(item int4, order_id int8, at timestamptz, command text, epoch int8,
       fresh_since timestamptz, reseller_id int8, profile_version text)),
   straight AS MATERIALIZED (
     SELECT item, o.id, o.order_code, o.reseller_id, o.domain_name, o.period_years, o.auth_info_sealed, o.contact_renewed,
       o.waiting_since, o.fee_amount, o.fee_currency, o.checked_at, profile.xmin::text AS profile_version, asked.at,
       asked.command, asked.epoch,
       o.checked_at > asked.fresh_since AND NOT o.contact_renewed AND (asked.profile_version IS NULL
         OR (o.reseller_id = asked.reseller_id AND profile.xmin::text = asked.profile_version)) AS may_begin
     FROM asked JOIN registration_orders AS o ON o.id = asked.order_id AND o.id = ANY (ARRAY(SELECT order_id FROM asked))
     JOIN registries AS registry ON registry.id = o.registry_id
     JOIN reseller_profiles AS profile ON profile.reseller_id = o.reseller_id
     WHERE o.status IS NOT DISTINCT FROM 'NotProvisioned' AND o.next_step_at IS NULL
       AND o.cancel_requested_at IS NULL AND o.settle_as IS NULL AND o.operator_note IS NULL
       AND registry.creates_paused_reason IS NULL
       AND (registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at) IS NOT TRUE
       AND NOT EXISTS (SELECT FROM order_attempts AS attempt WHERE attempt.order_id = o.id)),
   ready AS MATERIALIZED (
     SELECT item, id AS order_id, order_code || '-1' AS cl_trid, command, at, epoch FROM straight WHERE may_begin),
   ${begunFrom("ready")}
   SELECT straight.item, straight.id, straight.order_code, reseller_id, domain_name, period_years, auth_info_sealed,
     contact_renewed, waiting_since, fee_amount, fee_currency, checked_at, profile_version, begun.id IS NOT NULL AS is_begun,
     CASE WHEN begun.id IS NOT NULL THEN pg_notify('order_changed', begun.order_code)::text END AS notified
   FROM straight LEFT JOIN begun USING (item)`,
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
    is_begun: "bool",
    notified: "text?",
  },
);
type StraightOrder = NonNullable<(typeof findStraight)["row"]>;

const beginCreates = statement(
  "orders-begin",
  `WITH change AS MATERIALIZED (
     SELECT item, order_id, cl_trid, command, at, epoch
     FROM jsonb_to_recordset($1::jsonb) AS c(item int4, order_id int8, cl_trid text, command text, at timestamptz,
       epoch int8)),
   ${begunFrom("change")}
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
   SELECT item, pg_notify('order_changed', order_code)::text AS notified, EXISTS (SELECT FROM registries
     WHERE registries.id = finished.registry_id AND ${isPausedForCredit}) AS is_paused_for_credit
   FROM finished`,
  { item: "int4", notified: "text", is_paused_for_credit: "bool" },
);

/**
 * Takes an order from its beginning to its end, if nothing stands in the way.
 * @param resellerId whose order it is, if the caller knows: it spares a statement, where all else is known too
 * @returns "finished"; "not-straight" when it has to go step by step, from where it is now; or what happened to its create
 *   and is not written down yet, with the order in Processing (create)
 */
export async function goStraight(
  sessions: RegistrySessions,
  orderId: number,
  resellerId?: number,
): Promise<"finished" | "not-straight" | OrderHappening> {
  const { context, pool, profile } = sessions;
  const contact = rememberedContact(sessions, resellerId);
  if (contact && !(await hasSession(sessions))) return "not-straight";
  const now = context.clock.now();
  const [order] = await context.database.together(findStraight, {
    ...{ order_id: orderId, at: now, command: createName, epoch: context.lease.epoch },
    ...(contact && { fresh_since: new Date(now.getTime() - context.checkFreshMs) }),
    ...(contact && { reseller_id: resellerId, profile_version: contact.version }),
  });
  if (!order || order.contact_renewed) return "not-straight";
  const begun = order.is_begun ? contact : await begin(sessions, order);
  if (!begun) return "not-straight";
  const command = createCommand(sessions, order, begun.id);
  const clTrid = clTridOf(order);
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

/** The contact of the order, with the profile's version that it says; a thin registry has none. */
interface OrderContact {
  id?: string;
  version?: string;
}

function rememberedContact(
  { profile, contacts }: RegistrySessions,
  resellerId: number | undefined,
): OrderContact | undefined {
  if (profile.dataModel !== "thick") return {};
  return resellerId === undefined ? undefined : contacts.get(resellerId);
}

/** Begins the create of an order that was not begun when it was read. @returns nothing when something is in its way */
async function begin(sessions: RegistrySessions, order: StraightOrder): Promise<OrderContact | undefined> {
  const { context, profile } = sessions;
  const isThick = profile.dataModel === "thick";
  const id = isThick ? await findKnownContact(sessions, order.reseller_id, order.profile_version) : undefined;
  if (isThick && id === undefined) return undefined;
  if (!(await isFree(sessions, order))) return undefined;
  const attempt = { order_id: order.id, cl_trid: clTridOf(order), command: createName, at: context.clock.now() };
  const begun = await context.database.together(beginCreates, { ...attempt, epoch: context.lease.epoch });
  return begun.length > 0 ? { ...(id !== undefined && { id }) } : undefined;
}

const createName = "domain:create";
const clTridOf = ({ order_code: code }: StraightOrder) => `${code}-1`;

/** Whether there is a session to work with (row 2). */
async function hasSession({ pool }: RegistrySessions): Promise<boolean> {
  try {
    (await pool.acquire("check", { waitMs: sessionWaitMs })).release();
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether there is a session, and the name is free (row 4). The registry's answer to the request serves here too, for as
 * long as it is fresh: the create decides anyway. What else there is to know is for the steps.
 */
async function isFree(sessions: RegistrySessions, order: StraightOrder): Promise<boolean> {
  const { context, pool, profile } = sessions;
  const checkedAt = order.checked_at?.getTime() ?? 0;
  if (context.clock.now().getTime() - checkedAt < context.checkFreshMs) return hasSession(sessions);
  try {
    return (await pool.checkDomain(order.domain_name, { budgetMs: profile.queryTimeoutMs })).available;
  } catch {
    return false;
  }
}

/** Returns false when something came between: then nothing is written. */
async function finish({ context, profile }: RegistrySessions, { id }: StraightOrder, happening: OrderHappening) {
  const { attempt, registered } = happening;
  if (!attempt || !registered) throw new Error("an order can only finish with its create's answer");
  const [finished] = await context.database.together(finishOrders, {
    ...{ order_id: id, cl_trid: attempt.clTrid, result_code: attempt.resultCode, sv_trid: attempt.svTrid },
    ...{ registered_at: registered.registeredAt, expires_at: registered.expiresAt, domain_status: registered.status },
    at: context.clock.now(),
  });
  // There was none when it began.
  if (finished?.is_paused_for_credit) await resumeCreatesPausedFor(context, profile.id, "credit");
  return finished !== undefined;
}
