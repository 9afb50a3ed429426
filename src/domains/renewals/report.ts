/** What an operator sees of renewals, and the request to run one now. */
import { statement } from "#db/statement.ts";
import type { ChangeContext } from "#domains/changes/change.ts";
import { attemptColumns } from "#domains/changes/proof.ts";
import { rescheduleRenewal } from "#domains/renewals/renewals.ts";
import {
  isRenewalOver,
  type RenewalState,
  type RenewalStatus,
  renewalPhases,
  renewalState,
  renewalStatuses,
} from "#domains/renewals/states.ts";
import { addDays } from "#domains/renewals/terms.ts";
import { OperatorError } from "#operator-error.ts";

const renewals = statement(
  "operator-renewals",
  `SELECT renewal_code, r.domain_name, reseller.name AS reseller, r.registry_id AS registry, term_ends_at, due_at,
     domains.will_renew, r.status, phase, reason, alarms.since AS alarm_since
   FROM renewals AS r JOIN resellers AS reseller ON reseller.id = r.reseller_id
     LEFT JOIN domains ON domains.renewal_id = r.id
     LEFT JOIN alarms ON alarms.kind = 'renewal' AND alarms.subject = r.domain_name AND resolved_at IS NULL
       AND ended_at IS NULL
   WHERE CASE WHEN $status::text IS NULL THEN ended_at IS NULL ELSE r.status = $status END
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
    phase: [...renewalPhases, null],
    reason: "text?",
    alarm_since: "timestamptz?",
  },
);

const latestRenewal = statement(
  "operator-renewal",
  `SELECT r.id, renewal_code, r.domain_name, reseller.name AS reseller, r.registry_id AS registry, r.status, phase,
     verify_cause, term_ends_at, due_at, base_ex_date, renewed_until, backoff_count AS failed_tries, next_step_at, reason,
     alarms.note AS alarm
   FROM renewals AS r JOIN resellers AS reseller ON reseller.id = r.reseller_id
     LEFT JOIN alarms ON alarms.kind = 'renewal' AND alarms.subject = r.domain_name AND resolved_at IS NULL
       AND ended_at IS NULL
   WHERE r.domain_name = $domain_name ORDER BY r.id DESC LIMIT 1`,
  {
    id: "int8",
    renewal_code: "text",
    domain_name: "text",
    reseller: "text",
    registry: "text",
    status: renewalStatuses,
    phase: [...renewalPhases, null],
    verify_cause: "text?",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
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
  `SELECT expiration_date, registry_ex_date, will_renew, renewal_id, verify_cause, next_step_at
   FROM domains LEFT JOIN renewals ON renewals.id = renewal_id WHERE domains.domain_name = $domain_name`,
  {
    expiration_date: "timestamptz",
    registry_ex_date: "timestamptz",
    will_renew: "bool",
    renewal_id: "int8?",
    verify_cause: "text?",
    next_step_at: "timestamptz?",
  },
);

const renewalHistory = statement(
  "operator-renewal-history",
  `SELECT at, event, status, phase, note FROM renewal_history WHERE renewal_id = $renewal_id
   UNION ALL
   SELECT at, event, NULL, NULL, note FROM domain_history
   WHERE domain_name = $domain_name AND event IN ('will-renew-on', 'will-renew-off') ORDER BY at`,
  { at: "timestamptz", event: "text", status: "text?", phase: "text?", note: "text?" },
);

const renewalAttempts = statement(
  "operator-renewal-attempts",
  `SELECT cl_trid, command, committed_at, answered_at, result_code, sv_trid FROM attempts
   WHERE renewal_id = $renewal_id ORDER BY number`,
  attemptColumns,
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
export async function reportRenewals(context: ChangeContext, { status, resellerId, days, limit }: RenewalFilter) {
  const endsBy = days === undefined ? null : addDays(context.clock.now(), days);
  return context.database.query(renewals, {
    status: status ?? null,
    reseller_id: resellerId ?? null,
    ends_by: endsBy,
    rows_max: limit,
  });
}

/** The name, its latest renewal with history and attempts, and the next step. @throws OperatorError */
export async function reportRenewal({ database }: ChangeContext, domainName: string) {
  const [name] = await database.query(nameNow, { domain_name: domainName });
  const [renewal] = await database.query(latestRenewal, { domain_name: domainName });
  if (!renewal) {
    if (!name) throw new OperatorError("not-found", `no portfolio has, or had, ${domainName}`);
    const { expiration_date, registry_ex_date, will_renew } = name;
    const dates = { expiration_date, registry_ex_date, will_renew };
    return { domain_name: domainName, ...dates, next: notDue, history: [], attempts: [] };
  }
  const { id, ...shown } = renewal;
  const { expiration_date = null, registry_ex_date = null, will_renew = null } = name ?? {};
  return {
    ...shown,
    expiration_date,
    registry_ex_date,
    will_renew,
    next: describeNext(renewalState(renewal), renewal.next_step_at),
    history: await database.query(renewalHistory, { renewal_id: id, domain_name: domainName }),
    attempts: await database.query(renewalAttempts, { renewal_id: id }),
  };
}

const notDue = "nothing: the term ends too far in the future; a renewal is scheduled some weeks before it is due";

const stepDescriptions: Record<Exclude<RenewalState, "Renewed" | "Ended">, string> = {
  Scheduled: "it is due",
  "Processing (look)": "the registry is asked for the name's expiry",
  "Processing (renew)": "the renew is sent",
  "Processing (pending)": "the registry is asked whether it has approved the renew",
  "Processing (verify: answered)": "the registry is asked for the new expiry",
  "Processing (verify: lost)": "the registry is asked whether the renew whose answer was lost was executed",
  "Processing (verify: unseen)":
    "the registry is asked whether it still holds the name; whether the renew was executed, only an operator can find out: deedhouse renewals settle",
  Attention: "it is retried; an operator should look meanwhile",
  "Lapsing (wait)": "the registry is asked whether it has renewed or removed the name",
  "Lapsing (delete)": "the name is deleted, because the registry renewed it automatically",
  "Lapsing (verify: answered)": "the registry is asked whether the name is gone",
  "Lapsing (verify: lost)": "the registry is asked whether the delete whose answer was lost was executed",
};

function describeNext(state: RenewalState, at: Date): string {
  if (isRenewalOver(state)) return "nothing: it has ended";
  return `at ${at.toISOString()}: ${stepDescriptions[state as keyof typeof stepDescriptions]}`;
}

/** Makes a renewal's next step due now, even before its due date. @throws OperatorError when there is none */
export async function runRenewal(context: ChangeContext, domainName: string): Promise<void> {
  await context.database.transaction(async (tx) => {
    const [name] = await tx.query(nameNow, { domain_name: domainName });
    if (!name) throw new OperatorError("not-found", `no portfolio has ${domainName}`);
    if (name.renewal_id === null) throw new OperatorError("refused", notDue);
    if (name.verify_cause === "lost") {
      const until = name.next_step_at?.toISOString();
      throw new OperatorError(
        "refused",
        `an answer was lost, and nothing is believed before ${until}: it continues then`,
      );
    }
    await rescheduleRenewal(tx, name.renewal_id, context.clock.now());
  });
}
