-- What the schedule sent until now had rows in `renewals` alone. Terms that ended with a command stay orders: under their codes, in
-- `changes`. Those that are in progress become orders at their next step.
ALTER TABLE changes DISABLE TRIGGER ended_order_copied;
WITH sent AS (
  SELECT id, renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, status, reason, created_at,
    updated_at, ended_at, EXISTS (SELECT FROM attempts WHERE attempts.renewal_id = renewal.id AND command = 'domain:delete') AS is_deleted
  FROM renewals AS renewal
  WHERE ended_at IS NOT NULL AND (reason IS NULL OR reason NOT LIKE 'by order %')
    AND (status = 'Renewed' OR EXISTS (SELECT FROM attempts WHERE attempts.renewal_id = renewal.id))),
copied AS (
  INSERT INTO changes (change_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, reason, created_at,
    updated_at, ended_at, renewal_id)
  SELECT renewal_code, reseller_id, domain_name, registry_id, CASE WHEN is_deleted THEN 'delete' ELSE 'renew' END,
    jsonb_build_object('years', period_years, 'expiration_date', term_ends_at), true,
    CASE WHEN status = 'Renewed' OR is_deleted THEN 'Finished' ELSE 'Errors' END,
    CASE WHEN status = 'Ended' AND NOT is_deleted THEN concat_ws(': ', 'the name has left the portfolio', reason) ELSE reason END,
    created_at, updated_at, ended_at, id
  FROM sent
  RETURNING reseller_id, kind, status)
INSERT INTO order_counts (reseller_id, kind, status, row_count)
SELECT reseller_id, kind, status, count(*) FROM copied GROUP BY 1, 2, 3;
ALTER TABLE changes ENABLE TRIGGER ended_order_copied;
