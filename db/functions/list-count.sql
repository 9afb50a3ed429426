-- Counts names into their list's chunks; `names` of each reseller, in order, so that two transactions cannot wait for each
-- other. While a chunk's lock is held the chunk cannot be split, so it reaches to where the next one begins.
CREATE OR REPLACE FUNCTION list_count(list_ text, resellers bigint[], names text[], changes integer[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  count integer := cardinality(names);
  place integer := 1;
  reseller bigint;
  chunk text;
  next_chunk text;
  sum integer;
  held integer;
  touched_resellers bigint[] := '{}';
  touched_chunks text[] := '{}';
  touched_sums integer[] := '{}';
BEGIN
  WHILE place <= count LOOP
    reseller := resellers[place];
    chunk := list_chunk_lock(list_, reseller, names[place]);
    SELECT first_name INTO next_chunk FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name > chunk COLLATE "C"
      ORDER BY first_name LIMIT 1;
    sum := 0;
    LOOP
      sum := sum + changes[place];
      place := place + 1;
      EXIT WHEN place > count OR resellers[place] <> reseller OR names[place] >= next_chunk COLLATE "C";
    END LOOP;
    touched_resellers := touched_resellers || reseller;
    touched_chunks := touched_chunks || chunk;
    touched_sums := touched_sums || sum;
  END LOOP;
  FOR place IN 1 .. cardinality(touched_chunks) LOOP
    UPDATE list_chunks SET row_count = row_count + touched_sums[place]
      WHERE list = list_ AND reseller_id = touched_resellers[place] AND first_name = touched_chunks[place] COLLATE "C"
      RETURNING row_count INTO held;
    IF held > 1000 THEN
      PERFORM list_chunk_split(list_, touched_resellers[place], touched_chunks[place]);
    END IF;
  END LOOP;
END $$;
