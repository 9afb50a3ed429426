-- The names that one statement adds to a list, or takes away, are read once and counted by chunk, and each chunk is
-- written once: a list is told of a registration at the end of each one.
CREATE OR REPLACE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change, count(*) OVER () AS total FROM (%s) AS changed
     GROUP BY 1, 2 HAVING sum(change) <> 0 ORDER BY 1, 2',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changed record;
  place integer := 0;
  resellers bigint[] := '{}';
  chunks text[] := '{}';
  sums integer[] := '{}';
  next_chunk text;
  held integer;
BEGIN
  -- In the order of names, so that two transactions cannot wait for each other. While a chunk's lock is held nobody can
  -- split it, so it reaches to where the next one begins.
  FOR changed IN EXECUTE changes LOOP
    IF changed.total > 1000 THEN
      FOR changed IN EXECUTE format('SELECT DISTINCT reseller_id FROM (%s) AS changes ORDER BY 1', changes) LOOP
        PERFORM list_chunks_rebuild(TG_ARGV[0], changed.reseller_id);
      END LOOP;
      RETURN NULL;
    END IF;
    IF place = 0 OR resellers[place] <> changed.reseller_id OR changed.name >= next_chunk COLLATE "C" THEN
      place := place + 1;
      resellers[place] := changed.reseller_id;
      chunks[place] := list_chunk_lock(TG_ARGV[0], changed.reseller_id, changed.name);
      sums[place] := 0;
      SELECT first_name INTO next_chunk FROM list_chunks
        WHERE list = TG_ARGV[0] AND reseller_id = changed.reseller_id AND first_name > chunks[place] COLLATE "C"
        ORDER BY first_name LIMIT 1;
    END IF;
    sums[place] := sums[place] + changed.change;
  END LOOP;
  FOR place IN 1 .. cardinality(chunks) LOOP
    UPDATE list_chunks SET row_count = row_count + sums[place]
      WHERE list = TG_ARGV[0] AND reseller_id = resellers[place] AND first_name = chunks[place] COLLATE "C"
      RETURNING row_count INTO held;
    IF held > 1000 THEN
      PERFORM list_chunk_split(TG_ARGV[0], resellers[place], chunks[place]);
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
