/**
 * SQL: how long a registration takes, for `check-after`: the median of the last 100 finished registrations under the suffix, or
 * 10 s until there are 20 of them.
 */
export const medianSeconds = (suffix: string) => `
  (SELECT CASE WHEN count(*) < 20 THEN 10 ELSE ceil(percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)) END
   FROM (SELECT extract(epoch FROM ended_at - created_at) AS seconds FROM registration_orders AS sample
         WHERE sample.suffix = ${suffix} AND sample.status = 'Finished'
         ORDER BY sample.ended_at DESC LIMIT 100) AS recent)::int4`;
