-- For an order of name servers: a name that will delegate to ours has a zone by then.
CREATE OR REPLACE FUNCTION zone_of_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF delegation_is_ours(NEW.input -> 'name_servers') AND NOT EXISTS (
    SELECT FROM zones WHERE domain_name = NEW.domain_name AND state <> 'Withdrawn') THEN
    PERFORM zone_create(NEW.domain_name, NEW.reseller_id, NULL, 'order', NEW.created_at);
  END IF;
  RETURN NULL;
END $$;
