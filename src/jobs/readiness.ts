import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";

const unowned = statement(
  "worker-registries-unowned",
  `SELECT registry FROM unnest($registries::text[]) AS registry WHERE NOT ${registryOwnerAlive("registry")} ORDER BY registry`,
  { registry: "text" },
);

/** A worker is ready when each of its registries is owned by some worker: this one, or the one that it stands by for. */
export async function whyNotReady({ database, listener, registries }: Context): Promise<string | undefined> {
  if (listener.aliveAsOf() === undefined) return "waiting for the database";
  const rows = await database.query(unowned, { registries: registries.map(({ id }) => id) });
  if (rows.length === 0) return undefined;
  return `no worker holds the sessions of ${rows.map(({ registry }) => registry).join(", ")}`;
}
