/** What several apis on one database count together. */
import { createDatabase, type DatabaseOptions } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { createFailureCounts } from "#front/failure-counts.ts";
import type { RateLimiter } from "#front/rate-limit.ts";
import { createRequestWindows, type RequestWindows, windowNow } from "#front/request-windows.ts";
import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { reportDefect } from "#lib/report-defect.ts";

const removeEnded = statement(
  "request-windows-remove",
  `WITH ended AS (DELETE FROM request_windows WHERE window_number < (SELECT ${windowNow} - 1))
   DELETE FROM failure_counts WHERE (window_number, source) IN (
     SELECT window_number, source FROM failure_counts WHERE window_number < (SELECT ${windowNow} - 1)
     ORDER BY window_number, source LIMIT $rows_max FOR UPDATE SKIP LOCKED)
   RETURNING 1 AS removed`,
  { removed: "int4" },
);
/** Limits one statement. */
const removedAtOnce = 5_000;
/** One for requests, one for failures. */
const connectionsCount = 2;

export interface SharedCounts {
  requests: RequestWindows;
  /** Failures of sources. @param own those of this process */
  failures(own: RateLimiter): RateLimiter;
  /** Removes what has ended; from time to time. @throws DatabaseUnavailable */
  look(): Promise<void>;
  /** As of the database. */
  renew(): void;
  close(): void;
}

export interface SharedCountsOptions extends Pick<DatabaseOptions, "url" | "demands" | "log"> {
  clock: Clock;
  log: Log;
  /** Limits a statement, and the opening of a connection. */
  statementMsMax: number;
}

export function openSharedCounts({ clock, statementMsMax, ...options }: SharedCountsOptions): SharedCounts {
  const database = createDatabase({
    ...options,
    transactionsMax: connectionsCount,
    pipelinedConnections: 0,
    applicationName: "deedhouse-api-limits",
    connectionTimeoutMs: statementMsMax,
    statementTimeoutMs: statementMsMax,
  });
  return {
    requests: createRequestWindows(database, clock),
    failures: (own) => createFailureCounts({ own, database, clock, log: options.log }),
    async look() {
      let removed = removedAtOnce;
      while (removed === removedAtOnce) {
        removed = (await database.query(removeEnded, { rows_max: removedAtOnce })).length;
      }
    },
    renew: () => database.renew(),
    close() {
      database.close().catch(reportDefect);
    },
  };
}
