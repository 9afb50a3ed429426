-- Notifies the reseller that another registrar requests the name, or no longer requests it while the name stays.
CREATE OR REPLACE FUNCTION transfer_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT era, NEW.reseller_id, clock_timestamp(),
    CASE WHEN NEW.transfer IS NULL THEN 'domain.transfer_ended' ELSE 'domain.transfer_requested' END, NEW.domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', NEW.domain_name, 'gaining_registrar', transfer ->> 'gaining_registrar',
      'requested_at', transfer ->> 'requested_at',
      'answer_by', CASE WHEN NEW.transfer IS NOT NULL THEN transfer ->> 'answer_by' END))
  FROM event_log, coalesce(NEW.transfer, OLD.transfer) AS transfer;
  RETURN NULL;
END $$;
