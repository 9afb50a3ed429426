/** All metrics of our own. docs/metrics.md is printed from it, and rules and dashboards may name no others. */

export interface MetricRow {
  /** Without the prefix `deedhouse_`. */
  name: string;
  type: "gauge" | "counter" | "histogram";
  labels: readonly string[];
  /** A sentence without its end. */
  help: string;
  /** `database`: a fact about the whole database, which every process shows; say `max by` of it. */
  from: "process" | "database";
  /** Of a histogram, in seconds. */
  buckets?: readonly number[];
}

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const stepBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

export const metricRows = [
  {
    name: "build_info",
    type: "gauge",
    labels: ["role", "version"],
    from: "process",
    help: "1; the labels say what runs here",
  },
  {
    name: "http_request_duration_seconds",
    type: "histogram",
    labels: ["door", "route", "method", "status"],
    from: "process",
    buckets: requestBuckets,
    help: "How long the api takes to answer a request; `route` is a pattern, `door` is v1, v2, open, or held for a request with `Prefer`",
  },
  {
    name: "step_duration_seconds",
    type: "histogram",
    labels: ["machine", "outcome"],
    from: "process",
    buckets: stepBuckets,
    help: "How long a step of a row takes; `outcome` is done, failed, or lost when another process took the row over",
  },
  {
    name: "alarm_messages_total",
    type: "counter",
    labels: ["channel", "outcome"],
    from: "process",
    help: "Messages about alarms that were sent, or failed",
  },
  {
    name: "database_up",
    type: "gauge",
    labels: [],
    from: "process",
    help: "Whether the facts of the database could be read within their time",
  },
  { name: "workers", type: "gauge", labels: [], from: "database", help: "Workers that have been seen within a minute" },
  {
    name: "orders_open",
    type: "gauge",
    labels: ["registry", "kind", "status"],
    from: "database",
    help: "Orders that have not ended, of the first 20,000; Pending ones wait for an operator or the registry",
  },
  {
    name: "rows_due",
    type: "gauge",
    labels: ["machine"],
    from: "database",
    help: "Rows that are due, counted up to 10,000",
  },
  {
    name: "row_due_oldest_seconds",
    type: "gauge",
    labels: ["machine"],
    from: "database",
    help: "How long the oldest of them has been due",
  },
  {
    name: "registry_owned",
    type: "gauge",
    labels: ["registry"],
    from: "database",
    help: "Whether a worker holds the registry's sessions",
  },
  {
    name: "registry_lease_epoch",
    type: "gauge",
    labels: ["registry"],
    from: "database",
    help: "Counts the holders of the registry's sessions",
  },
  {
    name: "registry_paused",
    type: "gauge",
    labels: ["registry"],
    from: "database",
    help: "Whether creates are paused, or the registry is in its announced maintenance",
  },
  {
    name: "epp_circuit_open",
    type: "gauge",
    labels: ["registry"],
    from: "database",
    help: "Whether the registry gets no commands because it did not answer",
  },
  {
    name: "renewals_at_risk",
    type: "gauge",
    labels: ["registry", "days"],
    from: "database",
    help: "Renewals that have begun and are not proven, whose term ends within this number of days",
  },
  {
    name: "hosting_accounts",
    type: "gauge",
    labels: ["node"],
    from: "database",
    help: "Accounts that are placed on the node",
  },
  {
    name: "hosting_pending_oldest_seconds",
    type: "gauge",
    labels: [],
    from: "database",
    help: "How long the oldest change of an account has waited for its node",
  },
  {
    name: "node_seen_seconds",
    type: "gauge",
    labels: ["node"],
    from: "database",
    help: "How long ago the node answered last",
  },
  {
    name: "node_free_bytes",
    type: "gauge",
    labels: ["node"],
    from: "database",
    help: "What is left of the node's capacity for new accounts",
  },
  { name: "alarms_open", type: "gauge", labels: ["kind"], from: "database", help: "Alarms that are not resolved" },
  {
    name: "housekeeping_overdue_seconds",
    type: "gauge",
    labels: ["part"],
    from: "database",
    help: "How long a part of the housekeeping has been due, or has failed without a success between",
  },
] as const satisfies readonly MetricRow[];

export type MetricName = (typeof metricRows)[number]["name"];
export type FactName = Extract<(typeof metricRows)[number], { from: "database" }>["name"];
