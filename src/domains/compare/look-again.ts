/** Looks at single names at their time: for the second time at one that seems gone, and at one of which the registry has told something. */
import { statement } from "#db/statement.ts";
import { lookAtName } from "#domains/compare/look-at-name.ts";
import { postponeLook } from "#domains/compare/looks.ts";
import { later } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** How many names one run asks about. */
const looksPerRunMax = 100;

const namesToLookAt = statement(
  "domains-to-look-at",
  `SELECT domain_name FROM domains WHERE registry_id = $registry_id AND look_at <= $now
     AND NOT EXISTS (SELECT FROM registries
       WHERE id = $registry_id AND maintenance_from <= $now AND maintenance_until > $now)
   ORDER BY look_at LIMIT $rows_max`,
  { domain_name: "text" },
);

/** Looks at the names for which it is time. Never throws because the registry does not answer. */
export async function lookAgain(sessions: RegistrySessions): Promise<void> {
  const { context, profile } = sessions;
  const due = { registry_id: profile.id, now: context.clock.now(), rows_max: looksPerRunMax };
  for (const { domain_name: name } of await context.database.query(namesToLookAt, due)) {
    const { is } = await lookAtName(sessions, name, { takesOver: true, purpose: "renewal" });
    if (is !== "unknown" && is !== "held-back") continue;
    // Behind the others, because the cause may be this name alone. If it is the registry, there is nothing more to do now.
    await context.database.query(postponeLook, { name, look_at: later(sessions, profile.reconcileIntervalMs) });
    if (is === "unknown") return;
  }
}
