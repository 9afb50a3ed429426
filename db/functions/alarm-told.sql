-- Writes a message about an alarm for each channel; one about a channel that fails goes to the others. It only adds rows: who raises an
-- alarm waits for no one who sends.
CREATE OR REPLACE FUNCTION alarm_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO alarm_messages (channel, alarm_id, what, created_at)
  SELECT name, NEW.id, CASE WHEN NEW.resolved_at IS NULL THEN 'opened' ELSE 'resolved' END, coalesce(NEW.resolved_at, NEW.since)
  FROM alarm_channels WHERE NEW.kind <> 'alarm-channel' OR NEW.subject <> name
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM notify_after_commit('alarm_message', '');
  END IF;
  RETURN NULL;
END $$;
