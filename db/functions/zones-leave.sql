-- For names that have left their portfolio: their zones are frozen, and served until the site has moved or the name cannot be restored
-- any more; without such a time they are withdrawn at once.
CREATE OR REPLACE FUNCTION zones_leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE zones SET state = CASE WHEN gone.until > gone.ended_at THEN 'Leaving' ELSE 'Withdrawn' END,
    ends_at = CASE WHEN gone.until > gone.ended_at THEN gone.until END,
    withdrawn_at = CASE WHEN gone.until > gone.ended_at THEN NULL ELSE gone.ended_at END,
    next_step_at = CASE WHEN gone.until > gone.ended_at THEN gone.until END,
    delegated_by = NULL, checks = 0, updated_at = gone.ended_at
  FROM (SELECT domain_name, reseller_id, ended_at,
      CASE reason WHEN 'transferred' THEN ended_at + make_interval(days => leaving_days) ELSE restorable_until END AS until
    FROM new_rows CROSS JOIN zone_settings) AS gone
  WHERE zones.domain_name = gone.domain_name AND zones.reseller_id = gone.reseller_id AND zones.state IN ('Publishing', 'Active');
  RETURN NULL;
END $$;
