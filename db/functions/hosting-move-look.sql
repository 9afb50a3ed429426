-- A move that waits for its account continues once its node has applied the freezing; one that is over but for its grace time
-- makes sure that the node which the account leaves also applies a suspension; and none outlives its account.
CREATE OR REPLACE FUNCTION hosting_move_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hosting_moves SET next_step_at = NEW.updated_at WHERE account_id = NEW.id AND ended_at IS NULL
    AND (state IN ('Freezing', 'Leaving') OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at);
  RETURN NULL;
END $$;
