-- Of `orders`: counts those that a statement has ended, many at once, and notifies their resellers.
CREATE OR REPLACE FUNCTION orders_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, kind, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, kind, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, kind, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2, 3 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, ended.kind, ended.status, ended.change);
  END LOOP;
  -- Most statements end no order.
  IF FOUND THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT (SELECT era FROM event_log), row.reseller_id, row.ended_at, told.type, row.domain_name, told.data
    FROM new_rows AS row JOIN old_rows AS before ON before.id = row.id CROSS JOIN LATERAL (
      SELECT 'domain.registered' AS type, jsonb_build_object('domain_name', row.domain_name,
        'expiration_date', iso_time(name.expiration_date), 'order_code', row.order_code) AS data
      FROM domains AS name WHERE name.order_id = row.id AND row.kind = 'create' AND row.status = 'Finished'
      UNION ALL
      SELECT order_event_type(row.status), order_event(row.order_code, row.kind, row.domain_name, row.status, row.reason)) AS told
    WHERE row.ended_at IS NOT NULL AND before.ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;
