-- Counts an order that is copied here from elsewhere and has ended there.
CREATE OR REPLACE FUNCTION ended_order_copied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (NEW.reseller_id, NEW.kind, NEW.status, 1);
  RETURN NULL;
END $$;
