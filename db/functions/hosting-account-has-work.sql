-- An account that is not what its row says has work to do, by whatever statement the row was written.
CREATE OR REPLACE FUNCTION hosting_account_has_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.applied_version < NEW.wanted_version AND NEW.status NOT IN ('Failed', 'Removed') THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
