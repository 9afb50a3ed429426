/**
 * Failures of sources, counted by several apis together. Each obeys its own count and the sum of all, which it learns when it adds to
 * it, in the same turn of the event loop. The rows are unlogged, as those of requests are.
 */
import type { OpenDatabase } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { createTurnStatement } from "#db/turn-statement.ts";
import { createExpiringMap, type RateLimit, type RateLimiter, rateWindowsMax } from "#front/rate-limit.ts";
import { endsInMs, windowNow, windowSeconds } from "#front/request-windows.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { reportDefect } from "#lib/report-defect.ts";

const addFailures = statement(
  "failure-counts-add",
  `INSERT INTO failure_counts AS kept (window_number, source, failures)
   SELECT ${windowNow}, source, failures FROM jsonb_to_recordset($items::jsonb) AS added(source text, failures int4)
   ORDER BY source
   ON CONFLICT (window_number, source) DO UPDATE SET failures = kept.failures + excluded.failures
   RETURNING source, failures, ${endsInMs("window_number")} AS ends_in_ms`,
  { source: "text", failures: "int4", ends_in_ms: "int4" },
);

/**
 * How many failures of a source a process counts before it knows the sum of all. So all processes together exceed a budget by no more
 * than this for each: 16, or a sixteenth of a large budget.
 */
const aheadMax = (limit: number) => Math.max(16, Math.floor(limit / 16));

/** The failures of a source. */
interface Shared {
  /** Of all processes, as of the last answer. */
  sum: number;
  /** Of this process, not in the sum yet. */
  added: number;
  endsMs: number;
}

export interface FailureCountsOptions {
  /** This process's. */
  own: RateLimiter;
  database: OpenDatabase;
  clock: Clock;
  log: Log;
}

/** Counts the failures of this process and of all together. A failure whose sum is not known yet counts, so nothing is awaited. */
export function createFailureCounts({ own, database, clock, log }: FailureCountsOptions): RateLimiter {
  /** By source. */
  const counts = createExpiringMap<Shared>({ clock, keepMs: 2 * windowSeconds * 1000, max: rateWindowsMax });

  async function execute(sources: readonly string[]): Promise<Pick<Shared, "sum" | "endsMs">[]> {
    const askedMs = clock.monotonicMs();
    const groups = [...Map.groupBy(sources, (source) => source)];
    const items = groups.map(([source, { length: failures }]) => ({ source, failures }));
    const rows = await database.query(addFailures, { items: JSON.stringify(items) });
    const sums = new Map(
      rows.map(({ source, failures: sum, ends_in_ms: endsInMs }) => [source, { sum, endsMs: askedMs + endsInMs }]),
    );
    return sources.map((source) => sums.get(source)!);
  }

  const ask = createTurnStatement({ name: addFailures.name, database, execute });

  /** Never throws. */
  async function add(source: string): Promise<void> {
    const count = counts.get(source) ?? { sum: 0, added: 0, endsMs: Number.POSITIVE_INFINITY };
    counts.set(source, count);
    count.added++;
    try {
      Object.assign(count, await ask(source));
    } catch (error) {
      log.warn({ err: error }, "a failed authentication is counted by this api alone");
    } finally {
      count.added--;
    }
  }

  function peek(source: string, limit: number): RateLimit {
    const alone = own.peek(source, limit);
    const count = counts.get(source);
    if (!count) return alone;
    const leftMs = count.endsMs - clock.monotonicMs();
    const all = (leftMs > 0 ? count.sum : 0) + count.added;
    const usage = Math.min(limit, Math.max(alone.usage, all));
    const leftSeconds = all > 0 && leftMs < Number.POSITIVE_INFINITY ? Math.max(1, Math.ceil(leftMs / 1000)) : 0;
    return {
      allowed: alone.allowed && all < limit && count.added < aheadMax(limit),
      limit,
      usage,
      remaining: limit - usage,
      resetSeconds: Math.max(alone.resetSeconds, leftSeconds),
    };
  }

  return {
    take(source, limit, count = 1) {
      const { allowed } = own.take(source, limit, count);
      // More than the budget need not be known.
      if (allowed && peek(source, limit).allowed) add(source).catch(reportDefect);
      return { ...peek(source, limit), allowed };
    },
    peek,
  };
}
