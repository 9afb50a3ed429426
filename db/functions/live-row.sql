-- A row says itself when its next step is due, and while it lives that is never null. Its version counts its changes.
CREATE OR REPLACE FUNCTION live_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.version := OLD.version + 1;
  END IF;
  IF NEW.ended_at IS NULL AND NEW.next_step_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
