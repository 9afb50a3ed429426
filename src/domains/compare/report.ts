/** What an operator sees of names: everything about one, the names to compare, and transfers. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { activeNames } from "#domains/compare/compare-names.ts";

type ReportContext = Pick<Context, "database" | "clock">;

const historyRowsMax = 50;
const ordersMax = 20;

const nameRow = statement(
  "operator-domain",
  `SELECT reseller.name AS reseller, domain.registry_id AS registry, registration_date, expiration_date, registry_ex_date,
     will_renew, statuses, delegation AS name_servers, handles, dnssec, transfer, shown_at, looked_at, gone_since,
     (SELECT string_agg(kind || ': ' || note, '; ') FROM alarms
       WHERE subject = domain_name AND resolved_at IS NULL) AS alarms
   FROM domains AS domain JOIN resellers AS reseller ON reseller.id = domain.reseller_id WHERE domain_name = $name`,
  {
    reseller: "text",
    registry: "text",
    registration_date: "timestamptz",
    expiration_date: "timestamptz",
    registry_ex_date: "timestamptz",
    will_renew: "bool",
    statuses: "text[]",
    name_servers: "jsonb",
    handles: "jsonb?",
    dnssec: "jsonb?",
    transfer: "jsonb?",
    shown_at: "timestamptz?",
    looked_at: "timestamptz?",
    gone_since: "timestamptz?",
    alarms: "text?",
  },
);

const lastDeparture = statement(
  "operator-domain-departure",
  `SELECT reseller.name AS reseller, registry_id AS registry, ended_at AS left_at, reason, gaining_registrar, restorable_until
   FROM domains_ended JOIN resellers AS reseller ON reseller.id = reseller_id
   WHERE domain_name = $name ORDER BY domains_ended.id DESC LIMIT 1`,
  {
    reseller: "text",
    registry: "text",
    left_at: "timestamptz",
    reason: "text?",
    gaining_registrar: "text?",
    restorable_until: "timestamptz?",
  },
);

const ordersOf = statement(
  "operator-domain-orders",
  `SELECT order_code, kind, status, phase, created_at, ended_at, reason FROM (
     SELECT order_code, kind, status, phase, created_at, ended_at, reason FROM orders WHERE domain_name = $name
     UNION ALL
     SELECT renewal_code, 'renewal', status, phase, created_at, ended_at, reason FROM renewals
     WHERE domain_name = $name) AS about ORDER BY created_at DESC LIMIT ${ordersMax}`,
  {
    order_code: "text?",
    kind: "text?",
    status: "text?",
    phase: "text?",
    created_at: "timestamptz?",
    ended_at: "timestamptz?",
    reason: "text?",
  },
);

const historyOf = statement(
  "operator-domain-history",
  `SELECT at, event, note FROM domain_history WHERE domain_name = $name ORDER BY id DESC LIMIT ${historyRowsMax}`,
  { at: "timestamptz", event: "text", note: "text?" },
);

/** Everything here about a name; `here` is undefined while no portfolio has it. */
export async function reportName({ database }: Pick<ReportContext, "database">, name: string) {
  const [here] = await database.query(nameRow, { name });
  const [departure] = here ? [] : await database.query(lastDeparture, { name });
  const [orders, history] = await Promise.all([
    database.query(ordersOf, { name }),
    database.query(historyOf, { name }),
  ]);
  return { here, departure, orders, history };
}

const registryOf = statement("domain-registry", "SELECT registry_id FROM domains WHERE domain_name = $name", {
  registry_id: "text",
});

/** The registry of a name of any portfolio. */
export async function findRegistryOf(
  { database }: Pick<ReportContext, "database">,
  name: string,
): Promise<string | undefined> {
  return (await database.query(registryOf, { name }))[0]?.registry_id;
}

const activeOf = statement(
  "operator-domains-active",
  `SELECT domain_name FROM domains WHERE registry_id = $registry_id AND domain_name > $after
     AND domain_name IN (${activeNames}) ORDER BY domain_name LIMIT $rows_max` as string,
  { domain_name: "text" },
);

const allOf = statement(
  "operator-domains-all",
  `SELECT domain_name FROM domains WHERE registry_id = $registry_id AND domain_name > $after
   ORDER BY domain_name LIMIT $rows_max`,
  { domain_name: "text" },
);

const pageRows = 200;
const activeForMs = 2 * 24 * 60 * 60_000;

/** The names of a registry in all portfolios, a page at a time. @param all also names with no order and no renewal */
export async function* namesOf(
  { database, clock }: ReportContext,
  registryId: string,
  { all }: { all: boolean },
): AsyncGenerator<string> {
  const now = clock.now();
  const since = new Date(now.getTime() - activeForMs);
  const values = { registry_id: registryId, since, now };
  for (let after = ""; ; ) {
    const page = { registry_id: registryId, after, rows_max: pageRows };
    const rows = await (all ? database.query(allOf, page) : database.query(activeOf, { ...values, ...page }));
    for (const { domain_name } of rows) yield domain_name;
    const last = rows.at(-1);
    if (!last) return;
    after = last.domain_name;
  }
}

const transferColumns = {
  domain_name: "text",
  reseller: "text",
  status: "text?",
  gaining_registrar: "text?",
  requested_at: "text?",
  answer_by: "text?",
  left_at: "timestamptz?",
} as const;

const openTransfers = statement(
  "operator-transfers",
  `SELECT domain_name, reseller.name AS reseller, transfer ->> 'status' AS status,
     transfer ->> 'gaining_registrar' AS gaining_registrar, transfer ->> 'requested_at' AS requested_at,
     transfer ->> 'answer_by' AS answer_by, NULL::timestamptz AS left_at
   FROM domains JOIN resellers AS reseller ON reseller.id = reseller_id WHERE transfer IS NOT NULL
   ORDER BY transfer ->> 'answer_by' LIMIT $rows_max`,
  transferColumns,
);

const endedTransfers = statement(
  "operator-transfers-ended",
  `SELECT domain_name, reseller.name AS reseller, reason AS status, gaining_registrar, NULL AS requested_at,
     NULL AS answer_by, ended_at AS left_at
   FROM domains_ended JOIN resellers AS reseller ON reseller.id = reseller_id WHERE reason = 'transferred'
   ORDER BY domains_ended.id DESC LIMIT $rows_max`,
  transferColumns,
);

/** The transfers that other registrars have asked for, by the time of the registry's decision; or the names that they got. */
export function listTransfers(
  { database }: Pick<ReportContext, "database">,
  { ended, limit }: { ended: boolean; limit: number },
) {
  return database.query(ended ? endedTransfers : openTransfers, { rows_max: limit });
}
