-- The lists of orders: newest first, whole or of a kind and status, at the same cost however many there are.

-- How many orders have ended, by kind and status; those in progress are few, and counted by the indexes below. An order ends
-- once, and is never deleted. A count is spread over several rows: a transaction adds to one that no other is changing, or
-- makes another, so none waits for another, and no order of their changes can lock them against each other.
CREATE TABLE order_counts (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  reseller_id bigint NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  row_count bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX order_counts_list ON order_counts (reseller_id, kind, status);

CREATE FUNCTION order_count_add(reseller bigint, kind_ text, status_ text, change bigint) RETURNS void LANGUAGE plpgsql AS $$
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

-- For statements that end orders, many at once.
CREATE FUNCTION registrations_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, 'create', ended.status, ended.change);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER order_ended AFTER UPDATE ON registration_orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION registrations_ended();

CREATE FUNCTION changes_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, kind, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, kind, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, kind, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2, 3 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, ended.kind, ended.status, ended.change);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER order_ended AFTER UPDATE ON changes REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION changes_ended();

-- A new order has not ended; for it, a trigger of each statement would cost more than its insert. Rows that are copied here from
-- elsewhere may have.
CREATE FUNCTION ended_order_copied() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  kind_ text := 'create';
BEGIN
  IF TG_TABLE_NAME = 'changes' THEN
    kind_ := NEW.kind;
  END IF;
  INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (NEW.reseller_id, kind_, NEW.status, 1);
  RETURN NULL;
END $$;
CREATE TRIGGER ended_order_copied AFTER INSERT ON registration_orders FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL)
  EXECUTE FUNCTION ended_order_copied();
CREATE TRIGGER ended_order_copied AFTER INSERT ON changes FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL)
  EXECUTE FUNCTION ended_order_copied();

INSERT INTO order_counts (reseller_id, kind, status, row_count)
  SELECT reseller_id, 'create', status, count(*) FROM registration_orders WHERE ended_at IS NOT NULL GROUP BY 1, 2, 3
  UNION ALL
  SELECT reseller_id, kind, status, count(*) FROM changes WHERE ended_at IS NOT NULL GROUP BY 1, 2, 3;

-- A page takes the newest orders of each kind and status, so that a rare one is found as soon as a common one.
CREATE INDEX registration_orders_list ON registration_orders (reseller_id, status, created_at, order_code);
CREATE INDEX changes_list ON changes (reseller_id, kind, status, created_at, change_code);
CREATE INDEX renewals_ended ON renewals (reseller_id, status, created_at, renewal_code) WHERE ended_at IS NOT NULL;
CREATE INDEX renewals_begun ON renewals (reseller_id, created_at, renewal_code) INCLUDE (status, phase)
  WHERE status IN ('Processing', 'Attention', 'Lapsing');
