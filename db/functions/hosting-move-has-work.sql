-- A move that has not ended has work to do, by whatever statement the row was written.
CREATE OR REPLACE FUNCTION hosting_move_has_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.ended_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
