/** The pool of a registry's EPP sessions, made from its profile. Its circuit's state is in the database for all processes. */
import { resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { createEppPool, type EppPool, type EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const writeCircuit = statement(
  "registry-circuit",
  `INSERT INTO registries (id, circuit_open_until, updated_at) VALUES ($id, $open_until, $now)
   ON CONFLICT (id) DO UPDATE SET circuit_open_until = excluded.circuit_open_until, updated_at = excluded.updated_at`,
  {},
);

/** The pool's callbacks, except the circuit's. */
export type PoolHooks = Pick<EppPoolOptions, "onLogin" | "mayWrite">;

/** Opens the pool with a closed circuit: the previous session holder's failures no longer count. */
export async function openRegistryPool(
  context: Pick<Context, "database" | "clock" | "random" | "log">,
  profile: RegistryProfile,
  hooks: PoolHooks = {},
): Promise<EppPool> {
  await saveCircuit(context, profile.id, undefined);
  return createEppPool({
    ...eppOptionsOf(profile),
    clock: context.clock,
    random: context.random,
    log: context.log,
    ...hooks,
    // Rewriting each frame without its secrets took 4 % of the worker's time, although the result was rarely read.
    ...(context.log.isLevelEnabled("trace") && {
      onFrame: (direction, xml) => context.log.trace({ registry: profile.id, direction, xml }, "EPP frame"),
    }),
    onCircuit: ({ state, retryAfterMs }) => {
      const until = state === "open" ? new Date(context.clock.now().getTime() + retryAfterMs) : undefined;
      // A half-open circuit still refuses callers: the stored time holds until the probe is answered.
      if (state === "half-open") return;
      saveCircuit(context, profile.id, until).catch((error: unknown) =>
        context.log.error({ err: error }, "the circuit's state could not be written"),
      );
      // The chore that raises it runs seldom; if this fails, the chore resolves it (registry-absence.ts).
      if (state === "closed") resolveAlarm(context, { kind: "registry-away", subject: profile.id }).catch(() => {});
    },
  });
}

async function saveCircuit(
  { database, clock }: Pick<Context, "database" | "clock">,
  registryId: string,
  openUntil: Date | undefined,
): Promise<void> {
  await database.query(writeCircuit, { id: registryId, open_until: openUntil ?? null, now: clock.now() });
}
