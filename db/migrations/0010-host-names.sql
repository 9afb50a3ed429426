-- Names beside the platform's one at which an account's site answers, once control over them is proven. Many may wait to
-- prove the same name, so that nobody can keep it from its owner by asking first; it is proven for one account at a time.
CREATE TABLE host_names (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  host_name text COLLATE "C" NOT NULL,
  -- What the TXT record has to show: another for each account, so that nobody can point at somebody else's.
  proof text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
  status text NOT NULL CHECK (status IN ('Waiting', 'Proven')),
  proven_by text CHECK (proven_by IN ('dns', 'portfolio')),
  -- Why it is not proven, or what was wrong when it was last looked at.
  reason text,
  -- Looks without success in a row, while it waits; since when the record of a proven one is missing.
  misses integer NOT NULL DEFAULT 0,
  missing_since timestamptz,
  created_at timestamptz NOT NULL,
  checked_at timestamptz,
  -- Without one it is looked at when it is asked for again, or when who holds the domain name changes.
  next_check_at timestamptz,
  UNIQUE (account_id, host_name),
  CHECK ((status = 'Proven') = (proven_by IS NOT NULL)),
  CHECK (status = 'Proven' OR missing_since IS NULL)
);
CREATE UNIQUE INDEX host_names_proven ON host_names (host_name) WHERE status = 'Proven';
CREATE INDEX host_names_due ON host_names (next_check_at) WHERE next_check_at IS NOT NULL;

-- Read backwards, all names under one stand together: from `<name>.` up to before `<name>/`, for "/" follows "." in bytes.
CREATE INDEX host_names_backwards ON host_names ((reverse(host_name)) COLLATE "C");
CREATE INDEX hosting_accounts_backwards ON hosting_accounts ((reverse(identifier)) COLLATE "C")
  WHERE status NOT IN ('Failed', 'Removed');

-- The name itself and every name above it.
CREATE FUNCTION names_at_and_above(name text) RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT array_agg(array_to_string(labels[first:], '.'))
  FROM (SELECT string_to_array(name, '.') AS labels) AS split, generate_subscripts(labels, 1) AS first
$$;

CREATE FUNCTION host_names_look(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  SELECT graphile_worker.add_job('host-name', json_build_object('hostNameId', id), job_key := 'host-name:' || id,
    max_attempts := 32767) FROM unnest(ids) AS id
$$;

-- Whoever writes a domain name: host names at and under it are looked at again at once, and the accounts of its holder
-- that are called so answer there too. Each look is one range of an index: between the name itself and what is under it stand
-- only names as `x-<name>`. An OR of the two would leave the index for all accounts of the holder.
CREATE FUNCTION host_names_of_domain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  domain text COLLATE "C" := CASE TG_OP WHEN 'DELETE' THEN OLD.domain_name ELSE NEW.domain_name END;
  backwards text COLLATE "C" := reverse(domain);
  ids bigint[];
BEGIN
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO host_names (account_id, host_name, status, created_at)
      SELECT id, identifier, 'Waiting', now() FROM hosting_accounts
      WHERE status NOT IN ('Failed', 'Removed') AND reseller_id = NEW.reseller_id
        AND reverse(identifier) COLLATE "C" >= backwards AND reverse(identifier) COLLATE "C" < backwards || '/'
        AND (identifier = domain OR reverse(identifier) COLLATE "C" > backwards || '.')
      ON CONFLICT DO NOTHING;
  END IF;
  SELECT array_agg(id) INTO ids FROM host_names
    WHERE reverse(host_name) COLLATE "C" >= backwards AND reverse(host_name) COLLATE "C" < backwards || '/'
      AND (host_name = domain OR reverse(host_name) COLLATE "C" > backwards || '.');
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER host_names_of_domain AFTER INSERT OR DELETE OR UPDATE OF domain_name, reseller_id ON domains
  FOR EACH ROW EXECUTE FUNCTION host_names_of_domain();

-- An account that is called by a name of its owner's portfolio answers there too.
CREATE FUNCTION host_names_of_new_account() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ids bigint[];
BEGIN
  WITH named AS (
    INSERT INTO host_names (account_id, host_name, status, created_at)
      SELECT NEW.id, NEW.identifier, 'Waiting', NEW.created_at
      WHERE EXISTS (SELECT FROM domains
        WHERE domain_name = ANY (names_at_and_above(NEW.identifier)) AND reseller_id = NEW.reseller_id)
      RETURNING id)
  SELECT array_agg(id) INTO ids FROM named;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER host_names_of_new_account AFTER INSERT ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION host_names_of_new_account();

-- Whoever ends an account: its names are free again.
CREATE FUNCTION host_names_of_ended_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM host_names WHERE account_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER host_names_of_ended_account AFTER UPDATE OF status ON hosting_accounts
  FOR EACH ROW WHEN (NEW.status IN ('Failed', 'Removed')) EXECUTE FUNCTION host_names_of_ended_account();
