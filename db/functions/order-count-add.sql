-- Adds to the count of ended orders: to one of its rows that no other transaction is changing.
CREATE OR REPLACE FUNCTION order_count_add(reseller bigint, kind_ text, status_ text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  free bigint;
BEGIN
  SELECT id INTO free FROM order_counts WHERE reseller_id = reseller AND kind = kind_ AND status = status_
    LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF free IS NULL THEN
    INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (reseller, kind_, status_, change);
  ELSE
    UPDATE order_counts SET row_count = row_count + change WHERE id = free;
  END IF;
END $$;
