/** What the database knows about a name that somebody wants to register. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { medianSeconds } from "#domains/orders/estimate.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";

// LIMIT 1 keeps each look-up of a name on its index: a plan for many names, made while a table was small, would read it
// whole. And = in place of IS NOT DISTINCT FROM would let it read the index of all finished orders.
const facts = statement(
  "registration-facts",
  `WITH asked AS MATERIALIZED (
     SELECT item, reseller_id, name, label, suffix, registry_id, at FROM jsonb_to_recordset($1::jsonb)
       AS item(item int4, reseller_id int8, name text, label text, suffix text, registry_id text, at timestamptz)),
   median AS MATERIALIZED (
     SELECT suffix, ${medianSeconds("distinct_suffix.suffix")} AS seconds
     FROM (SELECT DISTINCT suffix FROM asked) AS distinct_suffix)
   SELECT asked.item, EXISTS (SELECT FROM reseller_profiles AS p WHERE p.reseller_id = asked.reseller_id) AS has_profile,
     EXISTS (SELECT FROM blocked_names AS blocked WHERE blocked.name IN (asked.name, asked.label)) AS is_blocked,
     live.order_code AS live_code, live.reseller_id AS live_reseller,
     domain.reseller_id AS holder, own.order_code AS own_code,
     registry.circuit_open_until, registry.creates_paused_reason,
     CASE WHEN registry.maintenance_from <= asked.at AND registry.maintenance_until > asked.at
       THEN registry.maintenance_until END AS maintenance_until,
     ${registryOwnerAlive("asked.registry_id")} AS has_owner,
     median.seconds AS median_seconds
   FROM asked
   JOIN median ON median.suffix = asked.suffix
   LEFT JOIN LATERAL (
     SELECT order_code, reseller_id FROM registration_orders AS o
     WHERE o.domain_name = asked.name AND o.status IN ('NotProvisioned', 'Processing', 'Pending')
     LIMIT 1) AS live ON true
   LEFT JOIN LATERAL (
     SELECT reseller_id, order_id FROM domains WHERE domain_name = asked.name LIMIT 1) AS domain ON true
   LEFT JOIN LATERAL (
     SELECT order_code FROM registration_orders AS o
     WHERE o.domain_name = asked.name AND o.reseller_id = asked.reseller_id AND o.status IS NOT DISTINCT FROM 'Finished'
       AND (o.id = domain.order_id OR o.ended_at > asked.at - interval '7 days')
     ORDER BY o.id DESC LIMIT 1) AS own ON true
   LEFT JOIN registries AS registry ON registry.id = asked.registry_id`,
  {
    item: "int4",
    has_profile: "bool",
    is_blocked: "bool",
    live_code: "text?",
    live_reseller: "int8?",
    holder: "int8?",
    own_code: "text?",
    circuit_open_until: "timestamptz?",
    creates_paused_reason: "text?",
    maintenance_until: "timestamptz?",
    has_owner: "bool",
    median_seconds: "int4",
  },
);

/** A name as one reseller asks for it; `label`, `suffix` and `registryId` say where it would be registered. */
export interface WantedName {
  resellerId: number;
  name: string;
  label: string;
  suffix: string;
  registryId: string;
}

export async function readFacts(context: Context, { resellerId, registryId, ...name }: WantedName) {
  const wanted = { reseller_id: resellerId, registry_id: registryId, ...name, at: context.clock.now() };
  const [found] = await context.database.together(facts, wanted);
  if (!found) throw new Error("the facts query returned no row");
  return found;
}
