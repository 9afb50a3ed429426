-- Notifies the reseller that the schedule cannot renew a name before an operator has decided.
CREATE OR REPLACE FUNCTION renewal_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), renewal.reseller_id, row.at, 'renewal.attention', renewal.domain_name,
    jsonb_build_object('domain_name', renewal.domain_name, 'expiration_date', iso_time(renewal.term_ends_at))
  FROM new_rows AS row JOIN renewals AS renewal ON renewal.id = row.renewal_id
  WHERE row.event = 'needs-operator'
  ORDER BY row.id;
  RETURN NULL;
END $$;
