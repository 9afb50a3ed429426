-- As list_changed, for new domains, with statements whose plans are kept: what is made of a trigger's arguments is planned each time.
CREATE OR REPLACE FUNCTION list_new_domains() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  resellers bigint[];
  names text[];
BEGIN
  SELECT array_agg(reseller_id), array_agg(domain_name) INTO resellers, names
    FROM (SELECT reseller_id, domain_name FROM new_rows ORDER BY 1, 2 LIMIT 1001) AS added;
  IF cardinality(names) > 1000 THEN
    PERFORM list_chunks_rebuild('domains', reseller_id)
      FROM (SELECT DISTINCT reseller_id FROM new_rows ORDER BY 1) AS reseller;
  ELSE
    PERFORM list_count('domains', resellers, names, array_fill(1, ARRAY[coalesce(cardinality(names), 0)]));
  END IF;
  RETURN NULL;
END $$;
