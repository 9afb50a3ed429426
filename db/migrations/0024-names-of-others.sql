-- Where sites answer at their bare identifiers (the sandbox), that is a host name like any other, which whoever proves the name
-- takes over.
ALTER TABLE host_names DROP CONSTRAINT host_names_proven_by_check,
  ADD CONSTRAINT host_names_proven_by_check CHECK (proven_by IN ('dns', 'portfolio', 'identifier'));
-- Accounts that were made before have none yet. In production the job finds nothing to do.
SELECT call_job('bare-names', '{}', 'bare-names')
  WHERE EXISTS (SELECT FROM hosting_accounts WHERE status NOT IN ('Failed', 'Removed'));

-- Whoever makes an account holds its identifier alone, and the names above it together with others, until the end of the
-- transaction: so of two who make accounts one above the other, the second sees the first one's. From the top down, so that
-- nobody waits for who waits for him.
CREATE FUNCTION hold_identifier(identifier text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT above FROM unnest(names_at_and_above(identifier)) AS above ORDER BY length(above) LOOP
    IF name = identifier THEN
      PERFORM pg_advisory_xact_lock(hashtext('hosting identifiers'), hashtext(name));
    ELSE
      PERFORM pg_advisory_xact_lock_shared(hashtext('hosting identifiers'), hashtext(name));
    END IF;
  END LOOP;
END $$;

-- Whoever writes domain names holds them until they are committed. Whoever looks at a host name waits until nobody does: a look
-- that began after the host name was committed then sees the domain, or the domain's writer has seen the host name.
CREATE FUNCTION await_domains_of(host_name text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), 0);
  FOR name IN SELECT above FROM unnest(names_at_and_above(host_name)) AS above ORDER BY above LOOP
    PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), hashtext(name));
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION host_names_follow(names text[], resellers bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  -- PostgreSQL has room for a few thousand locks: of many names all are held as one.
  IF cardinality(names) > 64 THEN
    PERFORM pg_advisory_xact_lock(hashtext('domain names'), 0);
  ELSE
    PERFORM pg_advisory_xact_lock(hashtext('domain names'), hashtext(name))
      FROM (SELECT unnest(names) AS name ORDER BY 1) AS held;
  END IF;
  INSERT INTO host_names (account_id, host_name, status, created_at)
    SELECT account.id, account.identifier, 'Waiting', now()
    FROM unnest(names, resellers) AS domain(name, reseller_id)
    JOIN hosting_accounts AS account ON account.status NOT IN ('Failed', 'Removed')
      AND reverse(account.identifier) COLLATE "C" >= reverse(domain.name)
      AND reverse(account.identifier) COLLATE "C" < reverse(domain.name) || '/'
    WHERE account.reseller_id IS NOT DISTINCT FROM domain.reseller_id AND (account.identifier = domain.name
      OR reverse(account.identifier) COLLATE "C" > reverse(domain.name) || '.')
    ON CONFLICT DO NOTHING;
  SELECT array_agg(id ORDER BY id) INTO ids FROM (
    SELECT DISTINCT host.id
    FROM unnest(names) AS domain(name)
    JOIN host_names AS host ON reverse(host.host_name) COLLATE "C" >= reverse(domain.name)
      AND reverse(host.host_name) COLLATE "C" < reverse(domain.name) || '/'
    WHERE host.host_name = domain.name OR reverse(host.host_name) COLLATE "C" > reverse(domain.name) || '.') AS found;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
END $$;
