/**
 * What a person has to look at. An alarm is a log line and a row, which is open from the first time that it is raised
 * until what ends it happens: raised again meanwhile, it is counted and logged more quietly.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

/** What each of them means, and what to do about it, is in docs/operating.md. */
export const alarmKinds = [
  ...(["order", "order-step", "message", "creates-paused", "epp-syntax", "registry-away"] as const),
  ...(["registry-login", "worker-stuck", "no-worker", "registry-unowned", "work-overdue", "disk"] as const),
  ...(["renewal", "renewal-credit", "renewal-dates"] as const),
  ...(["host-name"] as const),
  ...(["certificate", "plain-http"] as const),
  ...(["hosting", "hosting-traffic", "hosting-move", "hosting-move-stuck"] as const),
  ...(["hosting-node", "hosting-node-away", "hosting-node-restored"] as const),
] as const;
type AlarmKind = (typeof alarmKinds)[number];

/** `subject` is what it is about: an order's code, a domain name, a registry's id, a hosting account's identifier. */
interface AlarmSubject {
  kind: AlarmKind;
  subject: string;
}

interface Alarm extends AlarmSubject {
  /** A sentence for the operator. */
  note: string;
}

/** An operator's command has no more. */
type AlarmContext = Pick<Context, "database" | "clock" | "log">;

const raise = statement(
  "alarm-raise",
  `INSERT INTO alarms (kind, subject, note, since, last_at, count) VALUES ($1, $2, $3, $4, $4, 1)
   ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
     DO UPDATE SET note = excluded.note, last_at = excluded.last_at, count = alarms.count + 1
   RETURNING count`,
  { count: "int4" },
);

const resolve = statement(
  "alarm-resolve",
  "UPDATE alarms SET resolved_at = $3 WHERE kind = $1 AND subject = $2 AND resolved_at IS NULL RETURNING id",
  { id: "int8" },
);

/**
 * Tells the operator. The same kind and subject are one alarm until it is resolved.
 * @param tx the transaction that it belongs to; by itself without one
 */
export async function raiseAlarm(
  context: AlarmContext,
  { kind, subject, note }: Alarm,
  tx: Pick<Transaction, "query"> = context.database,
): Promise<void> {
  const [raised] = await tx.query(raise, [kind, subject, note, context.clock.now()]);
  const level = raised?.count === 1 ? "error" : "info";
  context.log[level]({ alarm: kind, subject, note, count: raised?.count }, "an operator is needed");
}

/** Ends an alarm, if it is open. Returns whether it was. @param tx as in `raiseAlarm` */
export async function resolveAlarm(
  context: AlarmContext,
  { kind, subject }: AlarmSubject,
  tx: Pick<Transaction, "query"> = context.database,
): Promise<boolean> {
  const resolved = (await tx.query(resolve, [kind, subject, context.clock.now()])).length > 0;
  if (resolved) context.log.info({ alarm: kind, subject }, "an alarm is resolved");
  return resolved;
}

const listAll = statement(
  "operator-alarms",
  `SELECT id, kind, subject, since, last_at, count, note, resolved_at FROM alarms
   WHERE $1 OR resolved_at IS NULL ORDER BY id DESC LIMIT $2`,
  {
    id: "int8",
    kind: "text",
    subject: "text",
    since: "timestamptz",
    last_at: "timestamptz",
    count: "int4",
    note: "text",
    resolved_at: "timestamptz?",
  },
);

const resolveById = statement(
  "alarm-resolve-by-id",
  "UPDATE alarms SET resolved_at = $2 WHERE id = $1 AND resolved_at IS NULL RETURNING id",
  { id: "int8" },
);

/** The newest first. @param all also those that are resolved */
export async function listAlarms({ database }: AlarmContext, { all, limit }: { all: boolean; limit: number }) {
  return database.query(listAll, [all, limit]);
}

/** An operator has seen to it. What is still wrong raises it anew. Returns false when no such alarm is open. */
export async function resolveAlarmById({ database, clock }: AlarmContext, id: number): Promise<boolean> {
  return (await database.query(resolveById, [id, clock.now()])).length > 0;
}
