-- Of an order that has ended.
CREATE OR REPLACE FUNCTION erase_secret() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'changes' THEN
    NEW.secret_sealed := NULL;
  ELSE
    NEW.auth_info_sealed := NULL;
  END IF;
  RETURN NEW;
END $$;
