-- Notifies the reseller of what has become of a hosting account.
CREATE OR REPLACE FUNCTION hosting_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), account.reseller_id, row.at, told.type, account.identifier,
    jsonb_strip_nulls(jsonb_build_object('identifier', account.identifier, 'status', row.status,
      'error_text', CASE WHEN told.type = 'hosting.failed' THEN account.error_text END))
  FROM new_rows AS row
  JOIN (VALUES ('probed', 'hosting.ready'), ('refused', 'hosting.failed'), ('applied', 'hosting.changed'),
    ('suspended', 'hosting.suspended'), ('resumed', 'hosting.resumed'), ('removed', 'hosting.removed'))
    AS told (event, type) ON told.event = row.event
  JOIN hosting_accounts AS account ON account.id = row.account_id
  -- What is left of an account that failed is also removed.
  WHERE told.event <> 'removed' OR NOT EXISTS (
    SELECT FROM hosting_history AS earlier WHERE earlier.account_id = row.account_id AND earlier.event = 'refused')
  ORDER BY row.id;
  RETURN NULL;
END $$;
