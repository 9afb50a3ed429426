-- When the registry last said that the name is free: its answer to the request serves the order's first step too.
ALTER TABLE registration_orders ADD COLUMN checked_at timestamptz;

-- The names that one statement changes are often neighbours: each chunk is locked and counted once for all of them. While
-- its lock is held nobody can split it, so it reaches to where the next one begins.
CREATE OR REPLACE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed GROUP BY 1, 2 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changes_count bigint;
  changed record;
  reseller bigint;
  chunk text;
  next_chunk text;
  held integer;
  full_resellers bigint[] := '{}';
  full_chunks text[] := '{}';
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS changes', changes) INTO changes_count;
  IF changes_count > 1000 THEN
    FOR changed IN EXECUTE format('SELECT DISTINCT reseller_id FROM (%s) AS changes ORDER BY 1', changes) LOOP
      PERFORM list_chunks_rebuild(TG_ARGV[0], changed.reseller_id);
    END LOOP;
    RETURN NULL;
  END IF;
  -- In the order of names, so that two transactions cannot wait for each other.
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2' LOOP
    IF reseller IS DISTINCT FROM changed.reseller_id OR changed.name >= next_chunk COLLATE "C" THEN
      reseller := changed.reseller_id;
      chunk := list_chunk_lock(TG_ARGV[0], reseller, changed.name);
      SELECT first_name INTO next_chunk FROM list_chunks
        WHERE list = TG_ARGV[0] AND reseller_id = reseller AND first_name > chunk COLLATE "C"
        ORDER BY first_name LIMIT 1;
    END IF;
    UPDATE list_chunks SET row_count = row_count + changed.change
      WHERE list = TG_ARGV[0] AND reseller_id = reseller AND first_name = chunk COLLATE "C"
      RETURNING row_count INTO held;
    IF held > 1000 AND (reseller, chunk) IS DISTINCT FROM
        (full_resellers[cardinality(full_chunks)], full_chunks[cardinality(full_chunks)]) THEN
      full_resellers := full_resellers || reseller;
      full_chunks := full_chunks || chunk;
    END IF;
  END LOOP;
  FOR place IN 1 .. cardinality(full_chunks) LOOP
    PERFORM list_chunk_split(TG_ARGV[0], full_resellers[place], full_chunks[place]);
  END LOOP;
  RETURN NULL;
END $$;
