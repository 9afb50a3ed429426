/** Which changes of a registry are due, for the engine that takes them (src/progress/), and how its owner is told of one. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { rowDueChannel } from "#progress/engine.ts";
import type { RowSource } from "#progress/rows.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** How the engine of a registry's changes is called, in notifications and logs. */
export const machineName = (name: "order" | "renewal", registryId: string) => `${name}s:${registryId}`;

/** SQL: tells the registry's owner that a change is due. @param registryId SQL too */
export const wake = (name: "order" | "renewal", registryId: string) =>
  `pg_notify('${rowDueChannel}', '${name}s:' || ${registryId})`;

/** SQL: the same for each registry, from rows that were changed; it returns how many were told. @param rows SQL: a table */
export const wakeAll = (name: "order" | "renewal", rows: string) =>
  `SELECT count(${wake(name, "registry_id")}) AS told FROM (SELECT DISTINCT registry_id FROM ${rows}) AS changed`;

interface DueOptions {
  table: string;
  name: "order" | "renewal";
  /** SQL: what must hold for a row to be taken at all. */
  taken?: string;
  /** SQL: rows that may be put off for as long as they say. */
  scheduled?: string;
  /** The longest that any other row waits. */
  longestWaitMs(profile: RegistryProfile): number;
}

/** Call it at module level. @returns the due rows of one registry, by an index on those that have not ended */
export function dueRows({ table, name, taken = "true", scheduled = "false", longestWaitMs }: DueOptions) {
  const waiting = `SELECT id, version, next_step_at FROM ${table} AS change WHERE ended_at IS NULL AND ${taken}`;
  const columns = { id: "int8", version: "int8", next_step_at: "timestamptz?" } as const;
  const first = statement(
    `${name}s-first`,
    `${waiting} AND registry_id = $registry_id AND id <> ALL ($except::int8[]) ORDER BY next_step_at LIMIT $rows_max::int4`,
    columns,
  );
  const find = statement(`${name}s-find`, `${waiting} AND id = ANY ($ids::int8[])`, columns);
  const postpone = statement(
    `${name}s-postpone`,
    `UPDATE ${table} SET next_step_at = $until
     WHERE id = $id AND ended_at IS NULL AND ($version::int8 IS NULL OR version = $version)`,
    {},
  );
  // What may still be executed has its time once more.
  const pullIn = statement(
    `${name}s-pull-in`,
    `UPDATE ${table} AS change SET next_step_at = CASE WHEN phase IN ('verify', 'cancel') THEN $settled::timestamptz
       ELSE $now::timestamptz END
     WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at > $latest::timestamptz AND NOT (${scheduled})
       AND NOT EXISTS (SELECT FROM registries WHERE id = change.registry_id AND next_step_at <= maintenance_until)`,
    {},
  );

  return ({ database }: Pick<Context, "database">, profile: RegistryProfile): RowSource<number> => {
    const registry_id = profile.id;
    const known = <Row extends { next_step_at: Date | null }>(rows: Row[]) =>
      rows.map((row) => ({ ...row, next_step_at: row.next_step_at ?? new Date(0) }));
    return {
      async first(rowsMax, except) {
        return known(await database.query(first, { registry_id, except: [...except], rows_max: rowsMax }));
      },
      async find(ids) {
        return known(await database.query(find, { ids: [...ids] }));
      },
      async postpone(id, version, until) {
        await database.query(postpone, { id, version, until });
      },
      async pullIn(now) {
        const after = (ms: number) => new Date(now.getTime() + ms);
        const settled = after(Math.max(profile.settleMs, profile.takeoverSettleMs));
        await database.query(pullIn, { registry_id, now, settled, latest: after(longestWaitMs(profile)) });
      },
    };
  };
}
