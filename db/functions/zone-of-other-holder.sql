-- For a domain name that gets another holder.
CREATE OR REPLACE FUNCTION zone_of_other_holder() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM zone_follows(NEW.domain_name, NEW.reseller_id, NEW.delegation);
  RETURN NULL;
END $$;
