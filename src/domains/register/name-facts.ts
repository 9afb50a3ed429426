/** What the database knows about a name that somebody wants to register, before its registry is asked. */
import type { Context } from "#context.ts";
import { type RowOf, statement } from "#db/statement.ts";
import type { ContactRefs } from "#domains/contacts/stored.ts";
import { isPaidLimitReached } from "#domains/orders/paid-orders.ts";
import type { Target } from "#domains/registry/target.ts";
import type { DomainName } from "#lib/domain-name.ts";
import { registryOwnerAlive, registryOwnerExpected } from "#locks/owner-lock.ts";
import { expectedSecondsDefault } from "#registry/registries.ts";
import type { Caller } from "#use-case/use-case.ts";

/** Fewer registrations say little; until then the profile's `expectedSeconds` is used. */
const samplesMin = 20;

/** SQL: the median duration of the last 100 finished registrations under the suffix; null until there are enough of them. */
export const medianSeconds = (suffix: string) => `
  (SELECT CASE WHEN count(*) >= ${samplesMin} THEN ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END
   FROM (SELECT extract(epoch FROM ended_at - created_at) AS seconds FROM orders AS sample
         WHERE sample.suffix = ${suffix} AND sample.kind = 'create' AND sample.status = 'Finished'
         ORDER BY sample.ended_at DESC LIMIT 100) AS recent)::int4`;

/** How long a registration takes, for `check-after`. @param median as `medianSeconds` says */
export function usualSeconds(context: Context, registryId: string, median: number | null): number {
  if (median !== null) return median;
  return context.registries.find(({ id }) => id === registryId)?.expectedSeconds ?? expectedSecondsDefault;
}

/** The registry's sessions have no owner; a successor takes over within seconds. */
export const ownerRetrySeconds = 5;

/** The first that applies, in this order. Only of an `unknown`, an `unowned` or a `paused` name can the registry say more. */
export type Standing =
  /** On the operator's block list. */
  | { kind: "blocked" }
  | { kind: "not-served" }
  /** The caller's own order is in progress. */
  | { kind: "own-order"; orderCode: string; contacts: ContactRefs }
  /** The caller holds the name, or registered it within the last days and it has not left since. */
  | { kind: "own"; orderCode: string | null }
  /** Another reseller holds or is ordering it, which only the caller's answer may not say. */
  | { kind: "taken" }
  /** The caller has placed as many paid orders today as it may. */
  | { kind: "limit-reached" }
  | { kind: "maintained" | "down"; retrySeconds: number }
  /** An operator has to end the pause of creates. */
  | { kind: "paused" }
  /** The owner of the registry's sessions has just ended, and its successor has not begun. */
  | { kind: "unowned" }
  | { kind: "unknown" };

export interface NameFacts {
  hasProfile: boolean;
  /** How long a registration takes under the name's suffix. */
  expectedSeconds: number;
  standing: Standing;
}

/** @param target as `findTarget` says; undefined when nobody serves the suffix */
export async function findNameFacts(
  context: Context,
  { resellerId }: Caller,
  name: DomainName,
  target: Target | undefined,
): Promise<NameFacts> {
  const now = context.clock.now();
  const [found] = await context.database.batched(facts, {
    reseller_id: resellerId,
    name,
    label: target?.label ?? name.slice(0, name.indexOf(".")),
    suffix: target?.suffix ?? "",
    registry_id: target?.registry.id ?? "",
    at: now,
  });
  if (!found) throw new Error("the facts query returned no row");
  return {
    hasProfile: found.has_profile,
    expectedSeconds: usualSeconds(context, target?.registry.id ?? "", found.median_seconds),
    standing: standingOf(found, { resellerId, now, isServed: target !== undefined }),
  };
}

interface Asked {
  resellerId: number;
  now: Date;
  isServed: boolean;
}

function standingOf(found: FactsRow, { resellerId, now, isServed }: Asked): Standing {
  const secondsUntil = (at: Date) => (at.getTime() - now.getTime()) / 1000;
  if (found.is_blocked) return { kind: "blocked" };
  if (!isServed) return { kind: "not-served" };
  if (found.live_code !== null && found.live_reseller === resellerId) {
    const contacts = (found.live_contacts ?? {}) as ContactRefs;
    return { kind: "own-order", orderCode: found.live_code, contacts };
  }
  if (found.holder === resellerId || found.own_code !== null) return { kind: "own", orderCode: found.own_code };
  if (found.holder !== null || found.live_code !== null) return { kind: "taken" };
  if (found.is_limit_reached) return { kind: "limit-reached" };
  if (found.maintenance_until !== null) {
    return { kind: "maintained", retrySeconds: secondsUntil(found.maintenance_until) };
  }
  if (found.circuit_open_until !== null && found.circuit_open_until > now) {
    return { kind: "down", retrySeconds: secondsUntil(found.circuit_open_until) };
  }
  if (!found.expects_owner) return { kind: "down", retrySeconds: ownerRetrySeconds };
  if (found.creates_paused_reason !== null) return { kind: "paused" };
  return { kind: found.has_owner ? "unknown" : "unowned" };
}

const columns = {
  item: "int4",
  has_profile: "bool",
  is_blocked: "bool",
  is_limit_reached: "bool",
  live_code: "text?",
  live_reseller: "int8?",
  live_contacts: "jsonb?",
  holder: "int8?",
  own_code: "text?",
  circuit_open_until: "timestamptz?",
  creates_paused_reason: "text?",
  maintenance_until: "timestamptz?",
  has_owner: "bool",
  expects_owner: "bool",
  median_seconds: "int4?",
} as const;

type FactsRow = RowOf<typeof columns>;

// LIMIT 1 keeps each look-up of a name on its index: a plan for many names that was made for a small table would read all of it.
// With = in place of IS NOT DISTINCT FROM the plan would read the index of all finished orders.
const facts = statement(
  "registration-facts",
  `WITH asked AS MATERIALIZED (
     SELECT item, reseller_id, name, label, suffix, registry_id, at FROM jsonb_to_recordset($items::jsonb)
       AS item(item int4, reseller_id int8, name text, label text, suffix text, registry_id text, at timestamptz)),
   median AS MATERIALIZED (
     SELECT suffix, ${medianSeconds("distinct_suffix.suffix")} AS seconds
     FROM (SELECT DISTINCT suffix FROM asked) AS distinct_suffix)
   SELECT asked.item, EXISTS (SELECT FROM reseller_profiles AS p WHERE p.reseller_id = asked.reseller_id) AS has_profile,
     EXISTS (SELECT FROM blocked_names AS blocked WHERE blocked.name IN (asked.name, asked.label)) AS is_blocked,
     ${isPaidLimitReached("asked.reseller_id", "asked.at")} AS is_limit_reached,
     live.order_code AS live_code, live.reseller_id AS live_reseller,
     live.contacts AS live_contacts,
     domain.reseller_id AS holder, own.order_code AS own_code,
     registry.circuit_open_until, registry.creates_paused_reason,
     CASE WHEN registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at
       THEN registry.maintenance_until END AS maintenance_until,
     ${registryOwnerAlive("asked.registry_id")} AS has_owner,
     ${registryOwnerExpected("asked.registry_id")} AS expects_owner,
     median.seconds AS median_seconds
   FROM asked
   JOIN median ON median.suffix = asked.suffix
   LEFT JOIN LATERAL (
     SELECT order_code, reseller_id, input -> 'contacts' AS contacts FROM orders AS o
     WHERE o.domain_name = asked.name AND o.kind = 'create' AND o.ended_at IS NULL
     LIMIT 1) AS live ON true
   LEFT JOIN LATERAL (
     SELECT reseller_id, order_id FROM domains WHERE domain_name = asked.name LIMIT 1) AS domain ON true
   LEFT JOIN LATERAL (
     SELECT order_code FROM orders AS o
     WHERE o.domain_name = asked.name AND o.kind = 'create' AND o.reseller_id = asked.reseller_id AND o.status IS NOT DISTINCT FROM 'Finished'
       AND (o.id = domain.order_id OR o.ended_at > asked.at - interval '7 days'
         AND NOT EXISTS (SELECT FROM domains_ended AS departure
           WHERE departure.domain_name = asked.name AND departure.ended_at >= o.ended_at))
     ORDER BY o.id DESC LIMIT 1) AS own ON true
   LEFT JOIN registries AS registry ON registry.id = asked.registry_id`,
  columns,
);
