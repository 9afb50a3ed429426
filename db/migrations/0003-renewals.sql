-- Renewals: for each name, one row per term that comes to its end, from some weeks before it is due until the name is
-- renewed or has left the portfolio. The row is there whether the name is to be renewed or not: not renewing is work too,
-- where the registry renews by itself.
CREATE TABLE renewals (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  renewal_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  domain_name text COLLATE "C" NOT NULL,
  registry_id text NOT NULL,
  period_years integer NOT NULL,
  -- The name's expiration_date when the row was made.
  term_ends_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  -- The registry's exDate that a renew of this term counts from; known once it was looked at.
  base_ex_date timestamptz,
  renewed_until timestamptz,
  status text NOT NULL CHECK (status IN ('Scheduled', 'Processing', 'Attention', 'Lapsing', 'Renewed', 'Ended')),
  phase text CHECK (phase IN ('look', 'renew', 'pending', 'wait', 'delete', 'verify')),
  verify_cause text CHECK (verify_cause IN ('answered', 'lost')),
  -- What was seen after a lost answer counts only when a second look at or after this time agrees (RFC 5734 §3).
  confirm_after timestamptz,
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz NOT NULL,
  -- When an operator is told next that the renewal is not proven yet.
  alarm_at timestamptz,
  reason text,
  -- Its place in the reseller's list: the end of the term, then the name.
  list_key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  CHECK ((status IN ('Processing', 'Lapsing')) = (phase IS NOT NULL)),
  CHECK ((phase = 'verify') = (verify_cause IS NOT NULL)),
  CHECK ((status IN ('Renewed', 'Ended')) = (ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX renewals_live_name ON renewals (domain_name) WHERE ended_at IS NULL;
CREATE INDEX renewals_name ON renewals (domain_name, id);
CREATE INDEX renewals_step ON renewals (registry_id, next_step_at) WHERE ended_at IS NULL;
CREATE INDEX renewals_alarm ON renewals (registry_id, alarm_at) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX renewals_list ON renewals (reseller_id, list_key);
CREATE INDEX renewals_list_status ON renewals (reseller_id, status, list_key);

-- Every renew and delete that renewals send, committed before its bytes are written. No answer = possibly sent.
CREATE TABLE renewal_attempts (
  cl_trid text PRIMARY KEY,
  renewal_id bigint NOT NULL REFERENCES renewals,
  number integer NOT NULL,
  command text NOT NULL,
  committed_at timestamptz NOT NULL,
  answered_at timestamptz,
  result_code integer,
  sv_trid text,
  UNIQUE (renewal_id, number)
);

CREATE TABLE renewal_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  renewal_id bigint NOT NULL REFERENCES renewals,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  phase text,
  note text
);
CREATE INDEX renewal_history_renewal ON renewal_history (renewal_id, id);

-- The renewal of the present term, once there is one. Names without one are found by the index at no cost to the others.
ALTER TABLE domains ADD COLUMN renewal_id bigint UNIQUE REFERENCES renewals;
CREATE INDEX domains_without_renewal ON domains (registry_id, expiration_date) WHERE renewal_id IS NULL;

-- What happened to a name in its portfolio; goes on after the name has left it.
CREATE TABLE domain_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  domain_name text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  at timestamptz NOT NULL,
  event text NOT NULL CHECK (event IN ('will-renew-on', 'will-renew-off', 'renewed', 'ended')),
  note text
);
CREATE INDEX domain_history_name ON domain_history (domain_name, id);

-- Names that have left their portfolio, as they were.
CREATE TABLE domains_ended (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  domain_name text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  order_id bigint REFERENCES registration_orders,
  renewal_id bigint NOT NULL REFERENCES renewals,
  registry_id text NOT NULL,
  registration_date timestamptz NOT NULL,
  expiration_date timestamptz NOT NULL,
  registry_ex_date timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  reason text
);
CREATE INDEX domains_ended_name ON domains_ended (domain_name, id);

-- A reseller's list of renewals, whole and by status. An ended one shows what became of it, a live one what is wished.
CREATE VIEW listed_renewals AS
  SELECT renewals.reseller_id, list_key, renewals.domain_name, term_ends_at, due_at, renewals.status, renewed_until,
    updated_at, CASE WHEN ended_at IS NULL THEN will_renew ELSE renewals.status = 'Renewed' END AS will_renew
  FROM renewals LEFT JOIN domains ON domains.domain_name = renewals.domain_name;

CREATE OR REPLACE VIEW listed_names AS
  SELECT 'domains'::text AS list, reseller_id, domain_name AS name FROM domains
  UNION ALL
  SELECT 'hosting'::text AS list, reseller_id, identifier AS name FROM hosting_accounts WHERE status <> 'Failed'
  UNION ALL
  SELECT 'renewals'::text AS list, reseller_id, list_key AS name FROM renewals
  UNION ALL
  SELECT 'renewals/' || status AS list, reseller_id, list_key AS name FROM renewals;

-- As list_changed, for a row that is in two lists: all renewals, and those of its status. All counts come before the
-- first split, which looks at the rows as they are after the statement.
CREATE FUNCTION renewals_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added text := 'SELECT reseller_id, list, list_key AS name, 1 AS change
    FROM new_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  removed text := 'SELECT reseller_id, list, list_key AS name, -1 AS change
    FROM old_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  changes text := format(
    'SELECT list, reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2, 3 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changes_count bigint;
  changed record;
  chunk text;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS changes', changes) INTO changes_count;
  IF changes_count > 1000 THEN
    FOR changed IN EXECUTE format('SELECT DISTINCT list, reseller_id FROM (%s) AS changes ORDER BY 1, 2', changes) LOOP
      PERFORM list_chunks_rebuild(changed.list, changed.reseller_id);
    END LOOP;
    RETURN NULL;
  END IF;
  -- In one order for all, so that two transactions cannot wait for each other.
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    chunk := list_chunk_lock(changed.list, changed.reseller_id, changed.name);
    UPDATE list_chunks SET row_count = row_count + changed.change
      WHERE list = changed.list AND reseller_id = changed.reseller_id AND first_name = chunk COLLATE "C";
  END LOOP;
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    CONTINUE WHEN changed.change < 0;
    PERFORM list_chunk_split(changed.list, changed.reseller_id, changed.name);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER list_inserted AFTER INSERT ON renewals REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();
CREATE TRIGGER list_updated AFTER UPDATE ON renewals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();
CREATE TRIGGER list_deleted AFTER DELETE ON renewals REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();

-- Switching renewal on and off has a scope of its own. Keys that could do everything still can.
UPDATE api_keys SET scopes = scopes || '{domains:renew}'
  WHERE scopes @> '{domains:read,domains:register,hosting:read,hosting:create,servicepacks:read}'
    AND NOT 'domains:renew' = ANY (scopes);
