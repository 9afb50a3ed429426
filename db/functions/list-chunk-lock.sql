-- Locks the chunk that a name falls into and returns its first name. It is looked for again once the lock is held, because the holder
-- before may have split it.
CREATE OR REPLACE FUNCTION list_chunk_lock(list_ text, reseller bigint, name_ text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  wanted text;
  held text;
BEGIN
  LOOP
    SELECT first_name INTO wanted FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1 FOR UPDATE;
    IF wanted IS NULL THEN
      INSERT INTO list_chunks VALUES (list_, reseller, '', 0) ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    SELECT first_name INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1;
    IF held = wanted THEN
      RETURN wanted;
    END IF;
  END LOOP;
END $$;
