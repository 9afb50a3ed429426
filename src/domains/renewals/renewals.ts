/** The rows of renewals. What happens to one is in happenings.ts, what it sends in attempts.ts. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { assertLeaseStands, isPresentEpoch, type OwnerLease } from "#domains/registry/owner-lease.ts";
import { enqueueRenewal } from "#queue/enqueue.ts";

/** An operator's command has no more, and needs no lease. */
export interface RenewalContext extends Pick<Context, "database" | "clock" | "log"> {
  lease?: OwnerLease;
}

// Without the name in its portfolio, or with it in its next term, there is nothing to do any more.
const renewalById = statement(
  "renewal-by-id",
  `SELECT r.id, renewal_code, r.reseller_id, r.domain_name, r.registry_id, period_years, term_ends_at, due_at,
     base_ex_date, r.status, phase, verify_cause, confirm_after, backoff_count, next_step_at, r.updated_at,
     will_renew, registry_ex_date,
     EXISTS (SELECT FROM registries WHERE registries.id = r.registry_id
       AND maintenance_from <= $2::timestamptz AND maintenance_until > $2::timestamptz) AS is_in_maintenance
   FROM renewals AS r JOIN domains ON domains.renewal_id = r.id WHERE r.id = $1 AND ended_at IS NULL`,
  {
    id: "int8",
    renewal_code: "text",
    reseller_id: "int8",
    domain_name: "text",
    registry_id: "text",
    period_years: "int4",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    base_ex_date: "timestamptz?",
    status: "text",
    phase: "text?",
    verify_cause: "text?",
    confirm_after: "timestamptz?",
    backoff_count: "int4",
    next_step_at: "timestamptz",
    updated_at: "timestamptz",
    will_renew: "bool",
    registry_ex_date: "timestamptz",
    is_in_maintenance: "bool",
  },
);

export type Renewal = NonNullable<(typeof renewalById)["row"]>;

// Whoever changes a name or its renewal holds the name's row first: so they cannot wait for each other.
const nameOfRenewal = statement(
  "renewal-lock-name",
  "SELECT will_renew FROM domains WHERE domain_name = $1 AND renewal_id = $2 FOR UPDATE",
  { will_renew: "bool" },
);

export async function findRenewal(context: RenewalContext, renewalId: number): Promise<Renewal | undefined> {
  const [renewal] = await context.database.query(renewalById, [renewalId, context.clock.now()]);
  return renewal;
}

/** The renewal, or what is wished for its name, is not what was read any more: read it again. */
export class RenewalChanged extends Error {}

/** A renewal could not be written: it has changed, or its registry has another owner. @throws RenewalChanged, LeaseLost */
export async function refuseRenewal(context: RenewalContext, tx: Pick<Transaction, "query">): Promise<never> {
  await assertLeaseStands(tx, context.lease);
  throw new RenewalChanged();
}

/**
 * Locks the name of a renewal until the transaction ends. Returns whether it is to be renewed.
 * @throws RenewalChanged when the renewal is not that of the name's present term any more
 */
export async function lockName(tx: Transaction, { domain_name, id }: Renewal): Promise<boolean> {
  const [name] = await tx.query(nameOfRenewal, [domain_name, id]);
  if (!name) throw new RenewalChanged();
  return name.will_renew;
}

const moveRenewal = statement(
  "renewal-move-step",
  "UPDATE renewals SET next_step_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING registry_id",
  { registry_id: "text" },
);

/** Wakes a renewal: it takes its next step at another time than it meant to, e.g. now. */
export async function rescheduleRenewal(
  context: Pick<RenewalContext, "clock">,
  tx: Pick<Transaction, "query">,
  renewalId: number,
  nextStepAt: Date,
): Promise<void> {
  const [row] = await tx.query(moveRenewal, [renewalId, nextStepAt]);
  if (!row) return;
  const delayMs = nextStepAt.getTime() - context.clock.now().getTime();
  await enqueueRenewal(tx, { id: renewalId, registryId: row.registry_id }, delayMs);
}

// As read: our dates have milliseconds.
const postponeStep = statement(
  "renewal-postpone",
  `UPDATE renewals SET next_step_at = $3
   WHERE id = $1 AND date_trunc('milliseconds', next_step_at) = $2 AND ended_at IS NULL
     AND ($4::int8 IS NULL OR ${isPresentEpoch("renewals.registry_id", "$4")}) RETURNING id`,
  { id: "int8" },
);

/**
 * Lets a renewal wait, of which a step has found that there is nothing to do.
 * @throws RenewalChanged when it was woken since it was read: what for must not be slept over
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function postponeRenewal(context: RenewalContext, renewal: Renewal, nextStepAt: Date): Promise<void> {
  const { id, registry_id: registryId, next_step_at, will_renew } = renewal;
  await context.database.transaction(async (tx) => {
    const isSame = (await lockName(tx, renewal)) === will_renew;
    const values = [id, next_step_at, nextStepAt, context.lease?.epoch ?? null];
    const [postponed] = isSame ? await tx.query(postponeStep, values) : [];
    if (!postponed) await refuseRenewal(context, tx);
    await enqueueRenewal(tx, { id, registryId }, nextStepAt.getTime() - context.clock.now().getTime());
  });
}
