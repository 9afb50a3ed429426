-- Wakes the processes that read events of these resellers.
CREATE OR REPLACE FUNCTION events_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM notify_after_commit('events', reseller_id::text) FROM (SELECT DISTINCT reseller_id FROM new_rows) AS reseller;
  RETURN NULL;
END $$;
