-- Of `changes`: counts the orders that a statement has ended, and tells their resellers.
CREATE OR REPLACE FUNCTION changes_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, kind, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, kind, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, kind, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2, 3 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, ended.kind, ended.status, ended.change);
  END LOOP;
  IF FOUND THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT (SELECT era FROM event_log), row.reseller_id, row.ended_at, order_event_type(row.status), row.domain_name,
      order_event(row.change_code, row.kind, row.domain_name, row.status, row.reason)
    FROM new_rows AS row JOIN old_rows AS before ON before.id = row.id
    WHERE row.ended_at IS NOT NULL AND before.ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;
