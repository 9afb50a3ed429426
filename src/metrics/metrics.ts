/** The metrics of a process, in the text format of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { MeasuredMessage, MeasuredRequest, MeasuredStep } from "#lib/measure/measured.ts";
import { measured } from "#lib/measure/measured.ts";
import type { Fact } from "#metrics/facts.ts";
import { type MetricName, type MetricRow, metricRows } from "#metrics/table.ts";
import manifest from "../../package.json" with { type: "json" };

/** Several scrapers ask; the database is asked once. */
const factsFreshMs = 10_000;
export const metricPrefix = "deedhouse_";

export interface Metrics {
  /** Everything that this process knows. Does not throw: without the database, its facts are missing. */
  page(): Promise<{ status: number; contentType: string; body: string }>;
  /** Counts no more. */
  close(): void;
}

export interface MetricsOptions {
  /** Of this process. */
  role: string;
  clock: Pick<Clock, "monotonicMs">;
  log: Log;
  /** Facts about the whole database; a process without one has none. */
  readFacts?: () => Promise<Fact[]>;
}

/** Begins to count. */
export function startMetrics({ role, clock, log, readFacts }: MetricsOptions): Metrics {
  const registry = new Registry();
  const metrics = createAll(registry, readFacts !== undefined);
  const gauge = (name: MetricName) => metrics.get(name) as Gauge;
  gauge("build_info").set({ role, version: manifest.version }, 1);
  collectDefaultMetrics({ register: registry });
  const stop = count(metrics);
  let facts: Promise<Fact[] | undefined> | undefined;
  let readAtMs = 0;

  function recentFacts(read: () => Promise<Fact[]>): Promise<Fact[] | undefined> {
    const nowMs = clock.monotonicMs();
    if (facts && nowMs - readAtMs < factsFreshMs) return facts;
    readAtMs = nowMs;
    facts = read().catch((error: unknown) => {
      log.warn({ err: error }, "the facts for metrics cannot be read");
      return undefined;
    });
    return facts;
  }

  async function setFacts(read: () => Promise<Fact[]>): Promise<void> {
    const known = await recentFacts(read);
    for (const { name, from } of metricRows) if (from === "database") gauge(name).reset();
    gauge("database_up").set(known ? 1 : 0);
    for (const { name, labels, value } of known ?? []) gauge(name).set(labels, value);
  }

  return {
    async page() {
      if (readFacts) await setFacts(readFacts);
      return { status: 200, contentType: registry.contentType, body: await registry.metrics() };
    },
    close() {
      stop();
      registry.clear();
    },
  };
}

/** One without labels is 0 from its creation on, so a process has none about a database that it does not read. */
function createAll(registry: Registry, hasFacts: boolean): Map<string, Gauge | Counter | Histogram> {
  const own = metricRows.filter(({ name, from }) => hasFacts || (from === "process" && name !== "database_up"));
  return new Map(own.map((row) => [row.name, create(registry, row)]));
}

function create(registry: Registry, { name, type, labels, help, buckets }: MetricRow) {
  const options = { name: metricPrefix + name, help, labelNames: labels, registers: [registry] };
  if (type === "histogram") return new Histogram({ ...options, buckets: [...(buckets ?? [])] });
  return type === "counter" ? new Counter(options) : new Gauge(options);
}

/** @returns ends it */
function count(metrics: ReadonlyMap<string, Gauge | Counter | Histogram>): () => void {
  const histogram = (name: MetricName) => metrics.get(name) as Histogram;
  const [requests, steps] = [histogram("http_request_duration_seconds"), histogram("step_duration_seconds")];
  const messages = metrics.get("alarm_messages_total" satisfies MetricName) as Counter;
  const onRequest = ({ seconds, status, ...labels }: MeasuredRequest) =>
    requests.observe({ ...labels, status: String(status) }, seconds);
  const onStep = ({ seconds, ...labels }: MeasuredStep) => steps.observe({ ...labels }, seconds);
  const onMessage = (message: MeasuredMessage) => messages.inc({ ...message });
  const pairs = [
    [measured.request, onRequest],
    [measured.step, onStep],
    [measured.alarmMessage, onMessage],
  ] as const;
  for (const [channel, handle] of pairs) channel.subscribe(handle as (message: unknown) => void);
  return () => {
    for (const [channel, handle] of pairs) channel.unsubscribe(handle as (message: unknown) => void);
  };
}
