-- Names that leave. The transfer that another registrar has asked for, as resellers see it; when the registry first showed that
-- the name is not ours any more; and when the registry's owner looks at the name again.
ALTER TABLE domains
  ADD COLUMN transfer jsonb,
  ADD COLUMN gone_since timestamptz,
  ADD COLUMN look_at timestamptz;
CREATE INDEX domains_look ON domains (registry_id, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX domains_gone ON domains (registry_id, gone_since) WHERE gone_since IS NOT NULL;

-- A name can leave years before its next renewal. The list shows the newest departure first. The key is generated, because
-- processes of an older release insert rows too. Their reasons are texts, as in the rows that are here already.
ALTER TABLE domains_ended
  ALTER COLUMN renewal_id DROP NOT NULL,
  ADD COLUMN gaining_registrar text,
  ADD COLUMN restorable_until timestamptz,
  ADD COLUMN list_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
    lpad((253402300799999 - (extract(epoch FROM ended_at - timestamptz '1970-01-01 00:00:00+00') * 1000)::int8)::text, 15, '0')
      || ' ' || domain_name || ' ' || id::text) STORED;
CREATE UNIQUE INDEX domains_ended_list ON domains_ended (reseller_id, list_key);

-- The view is extended as it is, so that lists of other migrations stay in it.
DO $$ BEGIN
  EXECUTE 'CREATE OR REPLACE VIEW listed_names AS ' || rtrim(pg_get_viewdef('listed_names'::regclass), '; ')
    || ' UNION ALL SELECT ''departures'', reseller_id, list_key FROM domains_ended';
END $$;
CREATE TRIGGER list_inserted AFTER INSERT ON domains_ended REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
CREATE TRIGGER list_deleted AFTER DELETE ON domains_ended REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
CREATE TRIGGER list_updated AFTER UPDATE ON domains_ended REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
SELECT list_chunks_rebuild('departures', reseller_id) FROM (SELECT DISTINCT reseller_id FROM domains_ended) AS reseller;
