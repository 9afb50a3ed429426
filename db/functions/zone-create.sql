-- A zone, with its first change, for a name in a portfolio whose row is locked. Null where there is one at, above or below the name,
-- and where there are no name servers. Its serial follows that of every earlier zone of the name, and its revision those of its reseller's.
CREATE OR REPLACE FUNCTION zone_create(name text, reseller bigint, made_by text, made_at_door text, made_at timestamptz)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  made record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('zones'), hashtext(substring(name FROM '[^.]+\.[^.]+$')));
  INSERT INTO zones (label, domain_name, reseller_id, state, revision, serial, name_servers, hostmaster, created_at, updated_at, next_step_at)
    SELECT md5(gen_random_uuid()::text || gen_random_uuid()::text), name, reseller, 'Publishing',
      1 + coalesce((SELECT max(revision) FROM zones WHERE domain_name = name AND reseller_id = reseller), 0),
      zone_serial_after((SELECT serial FROM zones WHERE domain_name = name ORDER BY id DESC LIMIT 1), made_at),
      settings.name_servers, settings.hostmaster, made_at, made_at, made_at
    FROM zone_settings AS settings
    WHERE cardinality(settings.name_servers) > 0
      AND NOT EXISTS (SELECT FROM zones WHERE domain_name = ANY (names_at_and_above(name)) AND state <> 'Withdrawn')
      AND NOT EXISTS (SELECT FROM zones WHERE reverse(domain_name) COLLATE "C" > reverse(name) || '.'
        AND reverse(domain_name) COLLATE "C" < reverse(name) || '/' AND state <> 'Withdrawn')
    RETURNING id, revision, serial INTO made;
  IF made.id IS NOT NULL THEN
    INSERT INTO zone_changes (zone_id, revision, serial, at, by, door)
      VALUES (made.id, made.revision, made.serial, made_at, made_by, made_at_door);
  END IF;
  RETURN made.id;
END $$;
