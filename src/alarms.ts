/**
 * Alarms alert the operator. An alarm is a log line and a row, which stays open until the alarm is resolved. Raising an alarm
 * that is already open increments its count and logs at a lower level.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

/** docs/operating.md explains each kind and what to do about it. */
export const alarmKinds = [
  "order",
  "order-step",
  "message",
  "messages-kept",
  "messages-blocked",
  "balance",
  "creates-paused",
  "epp-syntax",
  "registry-away",
  "registry-login",
  "contacts-lost",
  "worker-stuck",
  "no-worker",
  "registry-unowned",
  "work-overdue",
  "commits-lost",
  "disk",
  "clock",
  "database-not-synchronous",
  "lost-commits-allowed",
  "renewal",
  "renewal-credit",
  "renewal-dates",
  "renewal-held",
  "departures",
  "name-changed",
  "host-name",
  "certificate",
  "plain-http",
  "hosting",
  "hosting-traffic",
  "hosting-move",
  "hosting-move-stuck",
  "hosting-node",
  "hosting-node-away",
  "hosting-node-restored",
  "name-server",
  "name-server-restored",
  "webhook",
  "alarm-channel",
  "chore",
] as const;
type AlarmKind = (typeof alarmKinds)[number];

/** `subject` names what the alarm is about: an order's code, a domain name, a registry's id, a hosting account's identifier. */
interface AlarmSubject {
  kind: AlarmKind;
  subject: string;
}

interface Alarm extends AlarmSubject {
  /** A sentence for the operator. */
  note: string;
}

/** All that an operator's command has. */
type AlarmContext = Pick<Context, "database" | "clock" | "log">;

const raise = statement(
  "alarm-raise",
  `INSERT INTO alarms (kind, subject, note, since, last_at, count) VALUES ($kind, $subject, $note, $now, $now, 1)
   ON CONFLICT (kind, subject) WHERE resolved_at IS NULL
     DO UPDATE SET note = excluded.note, last_at = excluded.last_at, count = alarms.count + 1
   RETURNING count`,
  { count: "int4" },
);

const resolve = statement(
  "alarm-resolve",
  "UPDATE alarms SET resolved_at = $now WHERE kind = $kind AND subject = $subject AND resolved_at IS NULL RETURNING id",
  { id: "int8" },
);

/**
 * Raises an alarm. The same kind and subject are one alarm until it is resolved.
 * @param tx the transaction that raises it; by default a separate one
 */
export async function raiseAlarm(
  context: AlarmContext,
  { kind, subject, note }: Alarm,
  tx: Pick<Transaction, "query"> = context.database,
): Promise<void> {
  const [raised] = await tx.query(raise, { kind, subject, note, now: context.clock.now() });
  const level = raised?.count === 1 ? "error" : "info";
  context.log[level]({ alarm: kind, subject, note, count: raised?.count }, "an operator is needed");
}

/** Resolves an alarm. Returns whether it was open. @param tx as in `raiseAlarm` */
export async function resolveAlarm(
  context: AlarmContext,
  { kind, subject }: AlarmSubject,
  tx: Pick<Transaction, "query"> = context.database,
): Promise<boolean> {
  const resolved = (await tx.query(resolve, { kind, subject, now: context.clock.now() })).length > 0;
  if (resolved) context.log.info({ alarm: kind, subject }, "an alarm is resolved");
  return resolved;
}

const selectAlarms = "SELECT id, kind, subject, since, last_at, count, note, resolved_at FROM alarms";

// One plan for both would read all alarms that are over to find the open ones.
const listAll = statement(
  "operator-alarms",
  `(${selectAlarms} WHERE $all ORDER BY id DESC LIMIT $limit)
   UNION ALL (${selectAlarms} WHERE NOT $all AND resolved_at IS NULL ORDER BY id DESC LIMIT $limit)
   ORDER BY id DESC`,
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
  "UPDATE alarms SET resolved_at = $now WHERE id = $id AND resolved_at IS NULL RETURNING id",
  { id: "int8" },
);

/** The newest alarms first. @param all includes resolved alarms */
export async function listAlarms({ database }: AlarmContext, { all, limit }: { all: boolean; limit: number }) {
  return database.query(listAll, { all, limit });
}

/** Resolves an alarm for an operator. A cause that persists raises it again. Returns false when no such alarm is open. */
export async function resolveAlarmById({ database, clock }: AlarmContext, id: number): Promise<boolean> {
  return (await database.query(resolveById, { id, now: clock.now() })).length > 0;
}
