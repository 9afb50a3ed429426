-- What follows from domains that have a new holder, or none any more (NULL): host names at and under them are checked again at
-- once, and their holders' accounts of the same identifier also answer there. Each lookup is one range of an index: between a
-- name itself and what is under it stand only names as `x-<name>`. An OR of the two would leave the index for all accounts of
-- the holder. IS NOT DISTINCT FROM, because = would let PostgreSQL read all accounts of the holder instead of those with the
-- identifier.
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
