-- Cuts the chunk of a name until no part holds more than 1,000 rows: with 500 to 1,000 rows each, both halves of a
-- page's work (adding up chunks, walking one) stay about equally small up to a million rows.
CREATE OR REPLACE FUNCTION list_chunk_split(list_ text, reseller bigint, name_ text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  chunk text := list_chunk_lock(list_, reseller, name_);
  held integer;
  middle text;
BEGIN
  LOOP
    SELECT row_count INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    EXIT WHEN held <= 1000;
    SELECT name INTO middle FROM listed_names
      WHERE list = list_ AND reseller_id = reseller AND name >= chunk COLLATE "C" ORDER BY name OFFSET 500 LIMIT 1;
    UPDATE list_chunks SET row_count = 500
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    INSERT INTO list_chunks VALUES (list_, reseller, middle, held - 500);
    chunk := middle;
  END LOOP;
END $$;
