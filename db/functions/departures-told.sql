-- Of `domains_ended`: notifies the reseller that a name has left.
CREATE OR REPLACE FUNCTION departures_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), reseller_id, ended_at, 'domain.left', domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', domain_name, 'reason', reason, 'gaining_registrar', gaining_registrar,
      'restorable_until', iso_time(restorable_until)))
  FROM new_rows ORDER BY id;
  RETURN NULL;
END $$;
