/** Which changes of a registry are due, and how to wake its owner. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { rowDueChannel } from "#progress/engine.ts";
import { type RowSource, waitingRows } from "#progress/rows.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The tables of changes, in the singular: registrations, scheduled renewals, and orders about registered names. */
export type ChangeName = "order" | "renewal" | "change";

/** The name of a registry's machine, in notifications and logs. */
export const machineName = (name: ChangeName, registryId: string) => `${name}s:${registryId}`;

/** SQL that wakes the machine of a registry. @param registryId SQL too */
export const wake = (name: ChangeName, registryId: string) =>
  `pg_notify('${rowDueChannel}', '${name}s:' || ${registryId})`;

/** SQL that wakes the machines of all registries with changed rows, and returns their number. @param rows SQL: a table */
export const wakeAll = (name: ChangeName, rows: string) =>
  `SELECT count(${wake(name, "registry_id")}) AS notified FROM (SELECT DISTINCT registry_id FROM ${rows}) AS changed`;

interface DueOptions {
  table: string;
  name: ChangeName;
  /** For the names of its statements, where several machines share the table. */
  part?: string;
  /** SQL: the machine takes no other rows. */
  taken?: string;
  /** SQL: rows that may wait for any time. */
  scheduled?: string;
  /** The longest that any other row waits. */
  longestWaitMs(profile: RegistryProfile): number;
}

/** Call it at module level. @returns the rows of one registry that have not ended */
export function dueRows({ table, name, part = "", taken = "true", scheduled = "false", longestWaitMs }: DueOptions) {
  const only = `ended_at IS NULL AND ${taken}`;
  const prefix = `${part}${name}s`;
  const waiting = waitingRows(prefix, { table, id: { column: "id", type: "int8" }, owner: "registry_id", only });
  // A command that may still be executed is given its whole time again.
  const pullIn = statement(
    `${prefix}-pull-in`,
    `UPDATE ${table} AS change SET next_step_at = CASE WHEN phase IN ('verify', 'cancel') THEN $settled::timestamptz
       ELSE $now::timestamptz END
     WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at > $latest::timestamptz AND NOT (${scheduled})
       AND NOT EXISTS (SELECT FROM registries WHERE id = change.registry_id AND next_step_at <= maintenance_until)`,
    {},
  );

  return (context: Pick<Context, "database">, profile: RegistryProfile): RowSource<number> => ({
    ...waiting(context, profile.id),
    async pullIn(now) {
      const after = (ms: number) => new Date(now.getTime() + ms);
      const settled = after(Math.max(profile.settleMs, profile.takeoverSettleMs));
      const latest = after(longestWaitMs(profile));
      await context.database.query(pullIn, { registry_id: profile.id, now, settled, latest });
    },
  });
}
