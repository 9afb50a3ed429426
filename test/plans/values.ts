/** Values for the parameters of any statement, so that it does what it does every day in a database of `fillDatabase`. */
import type { Statement } from "#db/statement.ts";
import { largeReseller } from "./busy-database.ts";

/** Values as the database has them, as texts. */
export type Facts = Readonly<Record<"name" | "leftName" | "identifier" | "listed" | "renewal" | "departure", string>>;

/** SQL: one row with the facts. */
export const factsSql = `SELECT
  (SELECT domain_name FROM domains WHERE order_id = 300) AS "name",
  (SELECT domain_name FROM domains WHERE order_id = 302) AS "leftName",
  (SELECT identifier FROM hosting_accounts WHERE id = 6) AS "identifier",
  (SELECT domain_name FROM domains WHERE reseller_id = ${largeReseller} ORDER BY domain_name OFFSET 500 LIMIT 1) AS "listed",
  (SELECT list_key FROM renewals WHERE reseller_id = ${largeReseller} ORDER BY list_key OFFSET 500 LIMIT 1) AS "renewal",
  (SELECT list_key FROM domains_ended WHERE reseller_id = ${largeReseller} ORDER BY list_key OFFSET 500 LIMIT 1) AS "departure"`;

const now = "now";
const soon = "now + 1 day";
const daysAgo = "now - 2 days";
const place = "100 1700000000000000 REG-5";

/** What a parameter means whatever the statement, by its name. */
const byName: Readonly<Record<string, string>> = {
  now,
  reseller_id: String(largeReseller),
  registry_id: "sandbox",
  owner: "sandbox",
  node_id: "node-2",
  limit: "26",
  rows_max: "100",
  except: "{}",
  code: "CHG-5",
  kind: "nameservers",
  lane: "value",
  types: "{order.finished}",
  ids: "{5,6,7}",
  until: soon,
  next: soon,
  look_at: soon,
  look_again_at: soon,
  delete_at: soon,
  ends_at: soon,
  expires_at: soon,
  due_before: "now - 10 minutes",
  renewals_due_before: "now - 1 day",
  ends_by: "now + 7 days",
  night: "now - 12 hours",
  since: daysAgo,
  looked_before: "now - 10 days",
  received_before: "now - 2 years",
  unused_before: "now - 7 days",
  leaves_since: daysAgo,
  expired_before: daysAgo,
  digest: "digest-5",
  digests: "{digest-5}",
  contact_id: "C5",
  role: "",
  message_id: "5",
  key_id: "c4ca4238a0b923820dcc509a6f75849b",
  nonce: "5",
  method: "POST",
  path: "/domains",
  key: "5",
  cl_trid: "TR-5",
  sv_trid: "S-5",
  order_code: "REG-5",
  kinds: "{create,renew,nameservers}",
  statuses: "{Finished,Errors,Processing}",
  suffixes: "{example}",
  hosts: "{ns1.host-5.example}",
  host: "ns1.host-5.example",
  months: "15",
  month: "2026-11",
  tags: "{}",
  channels: "{row_due}",
  payloads: "{webhooks}",
  after_term: "-infinity",
  after_time: "-infinity",
  after_name: "",
  after_id: "0",
  from_name: "name-4",
  below_name: "name-4zzz",
  expires_before: "now + 60 days",
  silent_seconds: "60",
  secret_hash: "\\x00",
  scopes: "{domains:read}",
  uids: "{5,6,7}",
  account_ids: "{5,6,7}",
  served: "{sandbox}",
  signed_before: "0",
  before: "now - 90 days",
  epoch: "1",
  roles: "{admin}",
  all: "false",
  is_paced: "false",
  version: "0",
  refused: "[]",
  usage: "[]",
  term: now,
};

interface Override {
  statements: RegExp;
  values: Readonly<Record<string, string>>;
}

const names = (facts: Facts): Override[] => [
  {
    statements: /./,
    values: {
      name: facts.name,
      domain_name: facts.name,
      names: `{${facts.name}}`,
      identifier: facts.identifier,
      identifiers: `{${facts.identifier}}`,
      host_name: `www.${facts.identifier}`,
      host_names: `{www.${facts.identifier}}`,
    },
  },
  { statements: /-page-(next|prev|rest)$/, values: { at: facts.listed } },
  { statements: /-page-skip$/, values: { at: "1000" } },
  { statements: /^renewals.*-page-(next|prev)$/, values: { at: facts.renewal } },
  { statements: /^departures-page-(next|prev)$/, values: { at: facts.departure } },
  {
    statements: /^(orders|orders-of-name|domain-history|webhook-deliveries)-page-(next|prev|rest)$/,
    values: { at: place },
  },
  { statements: /^zone-changes-page-(next|prev|rest)$/, values: { at: "1 1700000000000000 000000000000002" } },
  {
    statements: /^zone/,
    values: { gone: "[]", written: "[]", added: "[]", removed: "[]", shown: "[]", revision: "2", steps: "1" },
  },
  { statements: /^hosting-page-(next|prev)$/, values: { at: facts.identifier } },
  {
    statements: /^webhook/,
    values: { code: "WHK-5", status: "Delivered", event_id: "evt_1_5_1", id: "6", url: "https://receiver.example/" },
  },
  { statements: /^events-page$/, values: { era: "1", transaction: "50", number: "0" } },
  { statements: /^domain-leave|departing|returned/, values: { name: facts.leftName } },
  { statements: /^operator-(domains-active|domains-all)$/, values: { after: facts.name } },
  {
    statements: /^(node-|liveness)/,
    values: {
      after: "5",
      asked: "5",
      id: "00000000-0000-4000-8000-000000000000",
      question_id: "00000000-0000-4000-8000-000000000000",
    },
  },
  {
    statements: /^chore/,
    values: { name: "old-events", ids: "{old-events}", names: "{old-events}", except: "{}", id: "old-events" },
  },
  { statements: /^(api-key|signature)/, values: { id: "c4ca4238a0b923820dcc509a6f75849b" } },
  { statements: /^committed-requests-since/, values: { since_seconds: "9999999999" } },
  { statements: /^hosting-move/, values: { from: "node-1", to: "node-2", states: "{Copying}" } },
  {
    statements: /^(registry-(maintenance|pause|resume|circuit|away-since)|registry-probe.*)$/,
    values: { id: "sandbox", from: now },
  },
  { statements: /^hosting-traffic-update$/, values: { months: "{2026-10,2026-11,2026-11}", bytes: "{1,1,1}" } },
  { statements: /^value-orders-in-turns$/, values: { after: "2" } },
  { statements: /^operator-hosting-accounts$/, values: { status: "Ready", is_pending: "false" } },
  { statements: /^operator-(orders|orders-attention|renewals)$/, values: { status: "Finished" } },
  { statements: /^operator-renewals$/, values: { status: "Scheduled" } },
];

/** By its type, where the name says nothing. */
const byType: Readonly<Record<string, string>> = {
  bigint: "5",
  integer: "5",
  smallint: "5",
  numeric: "5",
  boolean: "true",
  text: "x",
  uuid: "00000000-0000-4000-8000-000000000000",
  bytea: "\\x00",
  jsonb: "{}",
  "timestamp with time zone": now,
  xid8: "5",
};

/** One of what a batched statement takes. Fields that it does not know are ignored. */
function item(facts: Facts, statement: string): object {
  return {
    item: 0,
    id: statement === "name-check-ask" ? "q" : 300,
    version: 0,
    at: "2026-11-24T00:00:00Z",
    epoch: 1,
    events: [{ event: "requested", note: null, at: "2026-11-24T00:00:00Z", status: "Finished", phase: null }],
    is_over: true,
    is_closed: false,
    closes_all: true,
    status: "Finished",
    answered: "TR-5",
    result_code: 1000,
    reseller_id: largeReseller,
    name: facts.name,
    label: "x",
    suffix: "example",
    domain_name: facts.leftName,
    registry_id: "sandbox",
    order_code: "REG-new",
    input: { years: 1, will_renew: true, name_servers: [], locks_name: true },
    found: {},
    purpose: "check",
    registered_at: "2026-11-24T00:00:00Z",
    expires_at: "2027-11-24T00:00:00Z",
    renewed_until: "2027-11-24T00:00:00Z",
    domain_status: "ok",
    delegation: [],
    shown: { statuses: ["ok"], name_servers: [], handles: null, dnssec: null },
  };
}

/**
 * The literals of a statement's parameters, in the order of their positions.
 * @param types PostgreSQL's names of their types
 */
export function literalsOf({ name, parameters }: Statement<unknown>, types: readonly string[], facts: Facts): string[] {
  const own = Object.assign(
    {},
    byName,
    ...names(facts)
      .filter(({ statements }) => statements.test(name))
      .map(({ values }) => values),
  ) as Record<string, string>;
  return parameters.map((parameter, place) => {
    const type = types[place]!;
    if (parameter === "items") return quote(JSON.stringify([item(facts, name)]));
    const value = own[parameter] ?? byType[type] ?? (type.endsWith("[]") ? "{}" : undefined);
    if (value === undefined) throw new Error(`no value for $${parameter} of ${name}, which is a ${type}`);
    const relative = /^now(?: ([+-]) (.*))?$/.exec(value);
    if (!relative || type !== "timestamp with time zone") return quote(value);
    return relative[1] ? `now() ${relative[1]} interval '${relative[2]}'` : "now()";
  });
}

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
