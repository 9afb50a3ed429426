-- Counts an order that is copied here from elsewhere and has ended there.
CREATE OR REPLACE FUNCTION ended_order_copied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kind_ text := 'create';
BEGIN
  IF TG_TABLE_NAME = 'changes' THEN
    kind_ := NEW.kind;
  END IF;
  INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (NEW.reseller_id, kind_, NEW.status, 1);
  RETURN NULL;
END $$;
