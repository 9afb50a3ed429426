-- Skips all uids up to this one. ALTER SEQUENCE makes nextval wait, so no uid is drawn between reading the sequence and
-- changing it.
CREATE OR REPLACE FUNCTION raise_hosting_uid(highest bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  ALTER SEQUENCE hosting_uid NO CYCLE;
  IF (SELECT last_value FROM hosting_uid) <= highest THEN
    EXECUTE format('ALTER SEQUENCE hosting_uid RESTART WITH %s', highest + 1);
  END IF;
END
$$;
