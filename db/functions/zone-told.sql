-- Tells resellers what has become of a zone, and those who wait for it.
CREATE OR REPLACE FUNCTION zone_told() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  told text;
BEGIN
  IF TG_OP = 'INSERT' OR (OLD.state = 'Withdrawn' AND NEW.state <> 'Withdrawn') THEN
    told := 'zone.created';
  ELSIF NEW.state <> OLD.state AND NEW.state IN ('Leaving', 'Withdrawn') THEN
    told := CASE NEW.state WHEN 'Leaving' THEN 'zone.leaving' ELSE 'zone.removed' END;
  ELSIF NEW.told_at IS DISTINCT FROM OLD.told_at THEN
    told := 'zone.served';
  END IF;
  IF told IS NOT NULL THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT era, NEW.reseller_id, NEW.updated_at, told, NEW.domain_name, jsonb_strip_nulls(jsonb_build_object(
      'domain_name', NEW.domain_name, 'state', NEW.state, 'serial', CASE told WHEN 'zone.served' THEN NEW.serial END,
      'until', iso_time(NEW.ends_at)))
    FROM event_log;
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.served_revision <> OLD.served_revision OR NEW.state <> OLD.state) THEN
    PERFORM notify_after_commit('zone_changed', NEW.domain_name);
  END IF;
  RETURN NULL;
END $$;
