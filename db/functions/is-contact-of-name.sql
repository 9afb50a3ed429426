-- Only a bitmap scan reads a GIN index, and our connections plan none (docs/decisions/0005-plans-stay-on-indexes.md). Even with
-- bitmap scans, a walk through all names of the registry seems cheaper to the planner, which takes one name in a hundred to
-- match. So these functions change settings for the lookups that they run. IS NOT DISTINCT FROM keeps the indexes of registries
-- out.
CREATE OR REPLACE FUNCTION is_contact_of_name(registry text, contact text, moment timestamptz) RETURNS boolean LANGUAGE sql STABLE COST 10000
  SET enable_bitmapscan = on SET enable_indexscan = off SET enable_seqscan = off AS $$
  SELECT EXISTS (SELECT FROM domains WHERE registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
    OR EXISTS (SELECT FROM domains_ended WHERE restorable_until > moment AND registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
$$;
