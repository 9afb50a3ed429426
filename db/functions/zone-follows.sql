-- What follows for zones from a name that has a holder, new or other: what somebody else left there is gone at once, with its history;
-- what the holder left is published again; and a name with our name servers gets a zone.
CREATE OR REPLACE FUNCTION zone_follows(name text, reseller bigint, delegation jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  others bigint[];
BEGIN
  WITH gone AS (
    UPDATE zones SET state = 'Withdrawn', ends_at = NULL, withdrawn_at = now(), delegated_by = NULL, next_step_at = NULL, updated_at = now()
    WHERE domain_name = name AND reseller_id <> reseller AND state <> 'Withdrawn' RETURNING id)
  SELECT array_agg(zones.id) INTO others FROM zones WHERE domain_name = name AND reseller_id <> reseller;
  IF others IS NOT NULL THEN
    DELETE FROM zone_sets WHERE zone_id = ANY (others);
    DELETE FROM zone_changes WHERE zone_id = ANY (others);
    UPDATE zones SET record_count = 0 WHERE id = ANY (others) AND record_count > 0;
  END IF;
  UPDATE zones SET state = 'Publishing', ends_at = NULL, checks = 0, next_step_at = now(), updated_at = now()
    WHERE domain_name = name AND reseller_id = reseller AND state = 'Leaving';
  IF delegation_is_ours(delegation) THEN
    PERFORM zone_create(name, reseller, NULL, 'portfolio', now());
  END IF;
END $$;
