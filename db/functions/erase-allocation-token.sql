-- Of an order that has ended.
CREATE OR REPLACE FUNCTION erase_allocation_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.allocation_token_sealed := NULL;
  RETURN NEW;
END $$;
