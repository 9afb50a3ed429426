/** What the database is like, at the start of a process and every minute: its settings and both clocks can change under open connections. */
import { hostname } from "node:os";
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { checkDatabase, requireDatabase } from "#db/check-database.ts";
import { type Demands, type Finding, refusalOf } from "#db/facts.ts";
import { showing } from "#lib/measure/measure.ts";

type WatchedContext = Pick<Context, "database" | "clock" | "log">;

/** A standby that is restarted is back sooner. */
const aloneToleratedMs = 60_000;

/** The facts that an operator must know of, while the service goes on. */
const alarms = [
  { fact: "clock", kind: "clock", subject: hostname() },
  { fact: "synchronous_commit", kind: "lost-commits-allowed", subject: "the database" },
  { fact: "synchronous_standby", kind: "database-not-synchronous", subject: "the database" },
] as const;

export interface DatabaseWatch {
  /** The first look. @throws UnfitDatabase when the database is refused; DatabaseUnavailable */
  start(): Promise<void>;
  /** Raises and resolves the alarms, and lets the database be refused for as long as it is unfit. @throws DatabaseUnavailable */
  look(): Promise<void>;
}

/** @param role the process's name, for pg_stat_activity */
export function createDatabaseWatch(
  context: WatchedContext,
  { url, role, demands }: { url: string; role: string; demands: Demands },
): DatabaseWatch {
  const { database, clock, log } = context;
  let aloneSinceMs: number | undefined;

  if (demands.synchronous) showing("database_synchronous", () => [[{}, aloneSinceMs === undefined ? 1 : 0]]);

  const isLongEnough = ({ fact }: Finding) =>
    fact !== "synchronous_standby" || clock.monotonicMs() - aloneSinceMs! >= aloneToleratedMs;

  async function report(findings: readonly Finding[]): Promise<void> {
    const isAlone = findings.some(({ fact }) => fact === "synchronous_standby");
    aloneSinceMs = isAlone ? (aloneSinceMs ?? clock.monotonicMs()) : undefined;
    for (const { fact, kind, subject } of alarms) {
      const finding = findings.find((found) => found.fact === fact);
      if (!finding) await resolveAlarm(context, { kind, subject });
      else if (isLongEnough(finding)) await raiseAlarm(context, { kind, subject, note: finding.sentence });
    }
  }

  return {
    async start() {
      const { facts, findings } = await requireDatabase(url, role, demands);
      log.info({ database: facts }, "what the database is like");
      for (const { fact, sentence } of findings) log.warn({ fact }, sentence);
      await report(findings);
    },

    async look() {
      const { findings } = await checkDatabase(url, role, demands);
      const refusal = refusalOf(findings);
      if (refusal === undefined) database.refuse(undefined);
      // Who is refused can write nothing, so the alarm is raised before that.
      if (database.refusal() === undefined) await report(findings);
      if (refusal !== undefined && database.refusal() === undefined) log.error({ refusal }, "the database is not used");
      database.refuse(refusal);
    },
  };
}
