-- The counter of an account's paid orders is locked before an order is placed, so each account has one from its beginning.
CREATE OR REPLACE FUNCTION begin_paid_orders() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO paid_orders (reseller_id, day, placed) VALUES (NEW.id, (NEW.created_at AT TIME ZONE 'UTC')::date, 0);
  RETURN NULL;
END $$;
