import type { Context } from "#context.ts";
import { expectedSecondsDefault } from "#registry/registries.ts";

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
