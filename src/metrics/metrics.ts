/** The metrics of a process, in the text format of Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { lookAtAll, type Measured, onMeasured } from "#lib/measure/measure.ts";
import { type MetricName, type MetricRow, metricRows } from "#lib/measure/metrics-table.ts";
import type { Fact } from "#metrics/facts.ts";
import { pageOf, shareOf, type ThreadShare, withoutProcess } from "#metrics/thread-shares.ts";
import manifest from "../../package.json" with { type: "json" };

/** Several scrapers ask; the database is asked once. */
const factsFreshMs = 10_000;
export const metricPrefix = "deedhouse_";

export interface Metrics {
  /** Everything that this process knows. Does not throw: without the database, its facts are missing. */
  page(): Promise<{ status: number; contentType: string; body: string }>;
  /** Only what this thread has counted and has, for the page of another. */
  share(): Promise<ThreadShare>;
  /** Counts no more. */
  close(): void;
}

export interface MetricsOptions {
  /** Of this process. */
  role: string;
  clock: Pick<Clock, "monotonicMs">;
  log: Log;
  /** As for `/readyz`. */
  whyNotReady: () => string | undefined | Promise<string | undefined>;
  /** Fires some time before the process stops. */
  stopping?: AbortSignal;
  /** Facts about the whole database; a process without one has none. */
  readFacts?: () => Promise<Fact[]>;
  /** What other threads of this process share; undefined when there are none. */
  others?: () => Promise<ThreadShare[]> | undefined;
}

type Metric = Gauge | Counter | Histogram;

/** What costs a query. */
interface Read {
  isReady: boolean;
  facts: Fact[] | undefined;
}

/** Begins to count. */
export function startMetrics(options: MetricsOptions): Metrics {
  const { role, clock, stopping, readFacts } = options;
  const registry = new Registry();
  const metrics = createAll(registry);
  const gauge = (name: MetricName) => metrics.get(name) as Gauge;
  const own = { role, version: manifest.version };
  gauge("build_info").set(own, 1);
  collectDefaultMetrics({ register: registry });
  const stop = onMeasured((measured) => count(metrics, measured));
  let recent: Promise<Read> | undefined;
  let readAtMs = 0;

  function recentRead(): Promise<Read> {
    const nowMs = clock.monotonicMs();
    if (recent && nowMs - readAtMs < factsFreshMs) return recent;
    readAtMs = nowMs;
    recent = read(options);
    return recent;
  }

  return {
    async page() {
      const { isReady, facts } = await recentRead();
      const isDraining = stopping?.aborted ?? false;
      for (const [name, metric] of metrics) if (metric instanceof Gauge && name !== "build_info") forget(metric);
      gauge("ready").set(own, isReady && !isDraining ? 1 : 0);
      gauge("draining").set(own, isDraining ? 1 : 0);
      if (readFacts) gauge("database_up").set(facts ? 1 : 0);
      for (const { name, labels, value } of [...(facts ?? []), ...lookAtAll()])
        gauge(name as MetricName).inc(labels, value);
      const others = await options.others?.();
      const body = others ? await pageOf([await shareOf(registry), ...others]) : await registry.metrics();
      return { status: 200, contentType: registry.contentType, body };
    },
    async share() {
      for (const metric of metrics.values()) if (metric instanceof Gauge) forget(metric);
      for (const { name, labels, value } of lookAtAll()) gauge(name as MetricName).inc(labels, value);
      return withoutProcess(await shareOf(registry));
    },
    close() {
      stop();
      registry.clear();
    },
  };
}

/** What is not known now is missing, and not 0. */
function forget(gauge: Gauge): void {
  gauge.reset();
  // One without labels would be 0.
  gauge.remove({});
}

/** Never throws. */
async function read({ log, whyNotReady, readFacts }: MetricsOptions): Promise<Read> {
  const failed = (error: unknown) => {
    log.warn({ err: error }, "the facts for metrics cannot be read");
    return undefined;
  };
  const [isReady, facts] = await Promise.all([isSo(whyNotReady), readFacts?.().catch(failed)]);
  return { isReady, facts };
}

async function isSo(whyNot: MetricsOptions["whyNotReady"]): Promise<boolean> {
  try {
    return (await whyNot()) === undefined;
  } catch {
    return false;
  }
}

const createAll = (registry: Registry): Map<string, Metric> =>
  new Map(metricRows.map(([name, row]) => [name, create(registry, name, row)]));

function create(registry: Registry, name: MetricName, { type, labels, help, buckets }: MetricRow): Metric {
  const options = { name: metricPrefix + name, help, labelNames: labels, registers: [registry] };
  if (type === "histogram") return new Histogram({ ...options, buckets: [...(buckets ?? [])] });
  return type === "counter" ? new Counter(options) : new Gauge(options);
}

function count(metrics: ReadonlyMap<string, Metric>, { name, labels, value }: Measured): void {
  const metric = metrics.get(name);
  if (metric instanceof Histogram) metric.observe(labels, value);
  else (metric as Counter).inc(labels, value);
}
