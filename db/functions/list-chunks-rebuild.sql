-- Counts a whole list again: for statements that change very many rows at once. Waits for every other change of a list.
CREATE OR REPLACE FUNCTION list_chunks_rebuild(list_ text, reseller bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE list_chunks IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM list_chunks WHERE list = list_ AND reseller_id = reseller;
  INSERT INTO list_chunks
    SELECT list_, reseller, CASE WHEN chunk = 0 THEN '' ELSE min(name) END, count(*)
    FROM (SELECT name, (row_number() OVER (ORDER BY name) - 1) / 700 AS chunk
          FROM listed_names WHERE list = list_ AND reseller_id = reseller) AS numbered
    GROUP BY chunk;
END $$;
