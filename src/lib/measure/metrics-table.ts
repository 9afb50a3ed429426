/**
 * All metrics of our own: docs/metrics.md is printed from it, rules and dashboards may name no others, and what code measures is
 * checked against it (measure.ts).
 */

export interface MetricRow {
  type: "gauge" | "counter" | "histogram";
  /** `database`: a fact about the whole database, which every process shows; say `max by` of it. */
  from: "process" | "database";
  labels: readonly string[];
  /** A sentence without its end. */
  help: string;
  /** Of a histogram, in seconds. */
  buckets?: readonly number[];
}

const rows = <Type extends MetricRow["type"], From extends MetricRow["from"]>(type: Type, from: From) =>
  function row<const Labels extends readonly string[]>(labels: Labels, help: string) {
    return { type, from, labels, help };
  };
/** Looked at when somebody asks. */
const gauge = rows("gauge", "process");
const counter = rows("counter", "process");
const fact = rows("gauge", "database");
const histogram = <const Labels extends readonly string[]>(
  labels: Labels,
  help: string,
  buckets: readonly number[],
) => ({ ...rows("histogram", "process")(labels, help), buckets });

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const waitBuckets = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 3];
const stepBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300];
const orderBuckets = [0.1, 0.5, 1, 5, 30, 120, 600, 3_600, 21_600, 86_400, 259_200, 604_800];

const metricsTable = {
  build_info: gauge(["role", "version"], "1; the labels say what runs here"),
  ready: gauge(["role", "version"], "Whether the process can do its work, as `/readyz` says"),
  draining: gauge(["role", "version"], "Whether the api is about to stop, and takes no new work"),

  http_request_duration_seconds: histogram(
    ["door", "route", "method", "status"],
    "How long the api takes to answer a request; `route` is a pattern, `door` is v1, v2, open, or held for a request with `Prefer`",
    requestBuckets,
  ),
  http_requests_in_progress: gauge(["door"], "Requests without a complete answer; `door` is resellers or agents"),
  http_connections: gauge(["door"], "Open connections; `door` is resellers or agents"),
  http_refusals_total: counter(
    ["reason"],
    "Requests that were refused before their work began: busy, rate_limit, source_budget (too many failures from an address), signature, nonce, timestamp, scope or address",
  ),
  nonce_write_seconds: histogram(
    ["mode"],
    "How long it takes to record the nonce of a request before its answer goes out; `mode` is where",
    waitBuckets,
  ),
  nonces_kept: gauge(["mode"], "Used nonces that this process remembers"),
  nonce_horizon_ahead_seconds: gauge(
    ["mode"],
    "How long this process still refuses every request, because it does not know which nonces were used",
  ),

  order_duration_seconds: histogram(
    ["kind", "registry", "status"],
    "From the request of an order to its end; `status` is its last one",
    orderBuckets,
  ),
  orders_open: fact(
    ["registry", "kind", "status"],
    "Orders that have not ended, of the first 20,000; Pending ones wait for an operator or the registry",
  ),
  orders_attention: fact(["registry", "kind"], "Those of them that need an operator"),

  steps_total: counter(
    ["machine", "outcome"],
    "Steps of rows; `outcome` is done, failed, or lost when another process took the row over",
  ),
  step_duration_seconds: histogram(["machine"], "How long a step of a row takes", stepBuckets),
  rows_due: fact(["machine"], "Rows that are due, counted up to 10,000"),
  row_due_oldest_seconds: fact(["machine"], "How long the oldest of them has been due"),
  workers: fact([], "Workers that have been seen within a minute"),

  epp_command_duration_seconds: histogram(
    ["registry", "command"],
    "How long a registry takes to answer a command",
    stepBuckets,
  ),
  epp_commands_total: counter(
    ["registry", "command", "code"],
    "Commands to a registry; `code` is the result code, or unanswered",
  ),
  epp_sessions: gauge(["registry", "state"], "Sessions with a registry: lent, idle, or opening or closing"),
  epp_circuit_open: fact(["registry"], "Whether the registry gets no commands because it did not answer"),
  registry_owned: fact(["registry"], "Whether a worker holds the registry's sessions"),
  registry_lease_epoch: fact(["registry"], "Counts the holders of the registry's sessions"),
  registry_paused: fact(["registry"], "Whether creates are paused, or the registry is in its announced maintenance"),

  renewals_due: fact(["registry"], "Renewals that are due, counted up to 10,000"),
  renewals_at_risk: fact(
    ["registry", "days"],
    "Renewals that have begun and are not proven, whose term ends within this number of days",
  ),

  hosting_accounts: fact(
    ["node", "status"],
    "Accounts that are placed on the node: waiting for a change there, counted up to 10,000, or applied",
  ),
  hosting_pending_oldest_seconds: fact([], "How long the oldest change of an account has waited for its node"),
  node_seen_seconds: fact(["node"], "How long ago the node answered last"),
  node_free_bytes: fact(["node"], "What is left of the node's capacity for new accounts"),

  webhook_deliveries_total: counter(["outcome"], "Requests to webhooks: delivered or failed"),
  webhook_pending_oldest_seconds: fact(
    [],
    "How long a webhook has failed, or has had something to do, at most, of the first 10,000 with something to do",
  ),
  events_held_back_seconds: fact(
    [],
    "How long events have waited for an older transaction that is still running, of the last 1,000 events",
  ),
  alarms_open: fact(["kind"], "Alarms that are not resolved"),
  alarm_messages_total: counter(["channel", "outcome"], "Messages about alarms that were sent, or failed"),

  database_up: gauge([], "Whether the facts of the database could be read within their time"),
  database_synchronous: gauge(
    [],
    "Whether a synchronous standby was connected at the last look, within a minute; missing where none is demanded",
  ),
  database_reconnects_total: counter(
    ["pool"],
    "Connections to the database that broke; `pool` is transactions, reads or notifications",
  ),
  pool_connections: gauge(
    ["pool", "state"],
    "Connections to the database, used or idle, and callers that wait for one",
  ),
  pool_wait_seconds: histogram(
    ["pool"],
    "How long callers wait for a connection; `pool` is transactions for all, requests for the turns of resellers before",
    waitBuckets,
  ),
  statement_seconds_total: counter(["statement"], "Time in which a statement was sent, and not yet answered"),
  statement_errors_total: counter(["statement"], "Statements that failed"),

  housekeeping_overdue_seconds: fact(
    ["part"],
    "How long a part of the housekeeping has been due, or has failed without a success between",
  ),
  housekeeping_last_success_seconds: gauge(
    ["part"],
    "How long ago this worker last did a part of the housekeeping; missing until then, so say `min by` of it",
  ),
  backup_last_success_seconds: fact(
    [],
    "How long ago a backup was last recorded as done (`deedhouse backups record`); before the first one, how old the schema is",
  ),
  password_queue_waiting: gauge([], "Passwords that wait to be hashed"),
} as const satisfies Record<string, MetricRow>;

type Table = typeof metricsTable;
export type MetricName = keyof Table;
type NamesOf<Part> = { [Name in MetricName]: Table[Name] extends Part ? Name : never }[MetricName];
/** Those that grow as things happen. */
export type MeasuredName = NamesOf<{ type: "counter" | "histogram" }>;
/** Those of a process that are looked at. */
export type LookedName = NamesOf<{ type: "gauge"; from: "process" }>;
export type FactName = NamesOf<{ from: "database" }>;
export type LabelsOf<Name extends MetricName> = Readonly<Record<Table[Name]["labels"][number], string>>;

export const metricRows = Object.entries(metricsTable) as [MetricName, MetricRow][];
