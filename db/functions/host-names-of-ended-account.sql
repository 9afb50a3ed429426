-- When an account ends, its names are free again.
CREATE OR REPLACE FUNCTION host_names_of_ended_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM host_names WHERE account_id = NEW.id ORDER BY id FOR UPDATE;
  DELETE FROM host_names WHERE account_id = NEW.id;
  RETURN NULL;
END $$;
