-- An account that is called by a name of its owner's portfolio answers there too.
CREATE OR REPLACE FUNCTION host_names_of_new_account() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  WITH named AS (
    INSERT INTO host_names (account_id, host_name, status, created_at)
      SELECT NEW.id, NEW.identifier, 'Waiting', NEW.created_at
      WHERE EXISTS (SELECT FROM domains
        WHERE domain_name = ANY (names_at_and_above(NEW.identifier)) AND reseller_id = NEW.reseller_id)
      RETURNING id)
  SELECT array_agg(id) INTO ids FROM named;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
  RETURN NULL;
END $$;
