-- The list of a table's rows. Arguments: the list, its name column, and the condition under which a row is listed. If more than 1,000
-- names change, the lists of their resellers are counted again.
CREATE OR REPLACE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  resellers bigint[];
  names text[];
  sums integer[];
BEGIN
  EXECUTE format('SELECT array_agg(reseller_id), array_agg(name), array_agg(change)
    FROM (%s ORDER BY 1, 2 LIMIT 1001) AS changes', changes) INTO resellers, names, sums;
  IF cardinality(names) > 1000 THEN
    EXECUTE format('SELECT array_agg(DISTINCT reseller_id) FROM (%s) AS changes', changes) INTO resellers;
    PERFORM list_chunks_rebuild(TG_ARGV[0], reseller) FROM unnest(resellers) AS reseller;
  ELSE
    PERFORM list_count(TG_ARGV[0], resellers, names, sums);
  END IF;
  RETURN NULL;
END $$;
