-- Notifies the reseller of what has happened to a name. A departure has a separate event, because domains_ended says more.
CREATE OR REPLACE FUNCTION domain_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), row.reseller_id, row.at, told.type, row.domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', row.domain_name, 'expiration_date', iso_time(name.expiration_date),
      'will_renew', CASE WHEN told.type = 'domain.will_renew_changed' THEN name.will_renew END,
      'text', CASE WHEN told.type IN ('domain.changed', 'domain.notice') THEN row.note END))
  FROM new_rows AS row
  JOIN (VALUES ('renewed', 'domain.renewed'), ('restored', 'domain.restored'), ('adopted', 'domain.added'),
    ('will-renew-on', 'domain.will_renew_changed'), ('will-renew-off', 'domain.will_renew_changed'),
    ('changed-at-registry', 'domain.changed'), ('registry-change', 'domain.notice'), ('registry-notice', 'domain.notice'))
    AS told (event, type) ON told.event = row.event
  LEFT JOIN domains AS name ON name.domain_name = row.domain_name
  WHERE row.reseller_id IS NOT NULL
  ORDER BY row.id;
  RETURN NULL;
END $$;
