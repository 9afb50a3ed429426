-- A transaction that writes domain names locks them until it commits. A check of a host name waits for these locks: a check
-- that began after the host name was committed then sees the domain, or the domain's writer has seen the host name.
CREATE OR REPLACE FUNCTION await_domains_of(host_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), 0);
  FOR name IN SELECT above FROM unnest(names_at_and_above(host_name)) AS above ORDER BY above LOOP
    PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), hashtext(name));
  END LOOP;
END $$;
