-- As list_changed, for a row that is in two lists: all renewals, and those of its status. All counts come before the first
-- split, which reads the rows as they are after the statement.
CREATE OR REPLACE FUNCTION renewals_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := 'SELECT reseller_id, list, list_key AS name, 1 AS change
    FROM new_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  removed text := 'SELECT reseller_id, list, list_key AS name, -1 AS change
    FROM old_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  changes text := format(
    'SELECT list, reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2, 3 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changes_count bigint;
  changed record;
  chunk text;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS changes', changes) INTO changes_count;
  IF changes_count > 1000 THEN
    FOR changed IN EXECUTE format('SELECT DISTINCT list, reseller_id FROM (%s) AS changes ORDER BY 1, 2', changes) LOOP
      PERFORM list_chunks_rebuild(changed.list, changed.reseller_id);
    END LOOP;
    RETURN NULL;
  END IF;
  -- In one order for all, so that two transactions cannot wait for each other.
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    chunk := list_chunk_lock(changed.list, changed.reseller_id, changed.name);
    UPDATE list_chunks SET row_count = row_count + changed.change
      WHERE list = changed.list AND reseller_id = changed.reseller_id AND first_name = chunk COLLATE "C";
  END LOOP;
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    CONTINUE WHEN changed.change < 0;
    PERFORM list_chunk_split(changed.list, changed.reseller_id, changed.name);
  END LOOP;
  RETURN NULL;
END $$;
