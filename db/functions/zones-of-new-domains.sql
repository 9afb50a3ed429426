-- For new domain names, several at a time; most have nothing to do with zones.
CREATE OR REPLACE FUNCTION zones_of_new_domains() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  are_offered boolean := (SELECT cardinality(name_servers) > 0 FROM zone_settings);
BEGIN
  IF are_offered OR EXISTS (SELECT FROM zones) THEN
    PERFORM zone_follows(domain_name, reseller_id, delegation) FROM new_rows AS entered
    WHERE EXISTS (SELECT FROM zones WHERE zones.domain_name = entered.domain_name)
      OR (are_offered AND delegation_is_ours(delegation));
  END IF;
  RETURN NULL;
END $$;
