/**
 * The registry's owner compares the portfolio with the registry: each night the names with orders or a due renewal, and all others
 * every few days. There is no hurry: it takes a small share of the registry's rate, and sessions that nobody needs.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { lookAtName } from "#domains/compare/look-at-name.ts";
import { awaitIdleTurn, type RegistrySessions } from "#domains/registry/sessions.ts";
import { dayMs, nightBefore } from "#lib/clock.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** All names are looked at within 30 days: this leaves room for looks that fail, and for a registry that is busy. */
const everyDays = 10;
const batchRows = 100;

/**
 * SQL: names that are due each night: those with an open order, with an order that has ended since then, and with a renewal that
 * is due. Its parameters are registry_id, since and now.
 */
export const activeNames = `
  SELECT domain_name FROM orders WHERE registry_id = $registry_id AND ended_at IS NULL AND kind <> 'create'
  UNION SELECT domain_name FROM orders WHERE registry_id = $registry_id AND ended_at >= $since::timestamptz
    AND (kind <> 'create' OR status = 'Finished')
  UNION SELECT domain_name FROM renewals WHERE registry_id = $registry_id AND ended_at IS NULL
    AND next_step_at <= $now::timestamptz + interval '1 day'`;

const namesToCompare = statement(
  "domains-to-compare",
  `SELECT domain_name FROM (
     (SELECT domain_name, looked_at FROM domains WHERE domain_name = ANY (ARRAY(${activeNames}))
      AND domains.registry_id = $registry_id AND (looked_at IS NULL OR looked_at < $night))
     UNION
     (SELECT domain_name, looked_at FROM domains WHERE registry_id = $registry_id AND looked_at IS NULL LIMIT $rows_max)
     UNION
     (SELECT domain_name, looked_at FROM domains WHERE registry_id = $registry_id AND looked_at < $looked_before
      ORDER BY looked_at NULLS FIRST LIMIT $rows_max)) AS due
   WHERE NOT EXISTS (SELECT FROM registries
     WHERE id = $registry_id AND maintenance_from <= $now AND maintenance_until > $now)
   ORDER BY looked_at NULLS FIRST LIMIT $rows_max` as string,
  { domain_name: "text?" },
);

const noteLook = statement("domain-looked-at", "UPDATE domains SET looked_at = $now WHERE domain_name = $name", {});

function dueBy({ clock }: Pick<Context, "clock">, { id }: RegistryProfile) {
  const now = clock.now();
  const night = nightBefore(now);
  return {
    registry_id: id,
    now,
    night,
    since: new Date(night.getTime() - dayMs),
    looked_before: new Date(now.getTime() - everyDays * dayMs),
    rows_max: batchRows,
  };
}

/** A chore of the owner. It never throws because the registry does not answer. */
export async function compareNames(sessions: RegistrySessions, _round: number, ended: AbortSignal): Promise<void> {
  const { context, profile } = sessions;
  for (;;) {
    const names = await context.database.query(namesToCompare, dueBy(context, profile));
    if (names.length === 0) return;
    for (const { domain_name: name } of names) {
      if (name === null || !(await awaitIdleTurn(sessions, ended))) return;
      const look = await lookAtName(sessions, name, { takesOver: true, purpose: "renewal" });
      // Whatever it has shown: one name must not keep the others from their turn.
      await context.database.query(noteLook, { name, now: context.clock.now() });
      if (look.is === "unknown") return;
    }
  }
}
