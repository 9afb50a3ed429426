-- Of an order that has ended.
CREATE OR REPLACE FUNCTION erase_secret() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.secret_sealed := NULL;
  RETURN NEW;
END $$;
