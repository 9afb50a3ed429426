-- expand
-- The zones of names, their records and every change of them (src/zones/). PostgreSQL is the truth: role `dns` serves these rows, and
-- writes nothing.

-- As the processes were set up last: triggers cannot read an environment. Without name servers there are no zones.
CREATE TABLE zone_settings (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  name_servers text[] NOT NULL DEFAULT '{}',
  hostmaster text NOT NULL DEFAULT '',
  leaving_days integer NOT NULL DEFAULT 14,
  -- Whether all zones have these name servers.
  are_applied boolean NOT NULL DEFAULT true
);
INSERT INTO zone_settings DEFAULT VALUES;

CREATE TABLE zones (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- 128 random bits, its label in the catalog. A zone that is restored gets another, so that servers drop what they had.
  label text NOT NULL UNIQUE CHECK (label ~ '^[0-9a-f]{32}$'),
  domain_name text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  state text NOT NULL CHECK (state IN ('Publishing', 'Active', 'Leaving', 'Withdrawn')),
  -- Counts what resellers see as changes; `version` counts what the machine must see.
  revision bigint NOT NULL,
  serial bigint NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
  name_servers text[] NOT NULL,
  hostmaster text NOT NULL,
  -- Ids of records are never used twice in a zone; the first 13 are those of the apex NS.
  last_record_id bigint NOT NULL DEFAULT 13,
  record_count integer NOT NULL DEFAULT 0,
  served_revision bigint NOT NULL DEFAULT 0,
  served_at timestamptz,
  -- The time of its last event `zone.served`.
  told_at timestamptz,
  -- What each public server showed last.
  shown jsonb NOT NULL DEFAULT '[]',
  checks integer NOT NULL DEFAULT 0,
  -- The key that asks for the delegation to our servers, once they serve it.
  delegated_by text,
  ends_at timestamptz,
  withdrawn_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  next_step_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((state = 'Leaving') = (ends_at IS NOT NULL)),
  CHECK ((state = 'Withdrawn') = (withdrawn_at IS NOT NULL))
);
CREATE UNIQUE INDEX zones_live ON zones (domain_name) WHERE state <> 'Withdrawn';
CREATE INDEX zones_below ON zones (reverse(domain_name) COLLATE "C") WHERE state <> 'Withdrawn';
CREATE INDEX zones_name ON zones (domain_name, id);
CREATE INDEX zones_withdrawn ON zones (withdrawn_at) WHERE withdrawn_at IS NOT NULL AND record_count > 0;
CREATE INDEX zones_next_step ON zones (next_step_at) WHERE next_step_at IS NOT NULL;

CREATE TRIGGER count_version
  BEFORE UPDATE OF state, revision, serial, name_servers, hostmaster, checks, delegated_by, ends_at, next_step_at
  ON zones
  FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON zones FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.updated_at))
  EXECUTE FUNCTION row_is_due('zones');
CREATE TRIGGER told AFTER INSERT OR UPDATE ON zones FOR EACH ROW EXECUTE FUNCTION zone_told();

CREATE TABLE zone_sets (
  zone_id bigint NOT NULL REFERENCES zones ON DELETE CASCADE,
  -- Relative to the zone, in lower case; @ is the apex.
  owner text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  -- Who wrote it: the reseller, or one of the services, whose sets those of the reseller shadow.
  source text COLLATE "C" NOT NULL DEFAULT 'user' CHECK (source IN ('user', 'hosting', 'service')),
  ttl integer NOT NULL,
  records text[] NOT NULL,
  ids bigint[] NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (zone_id, owner, type, source),
  CHECK (cardinality(records) > 0 AND cardinality(records) = cardinality(ids))
);

-- Each serial that was issued is a row.
CREATE TABLE zone_changes (
  zone_id bigint NOT NULL REFERENCES zones ON DELETE CASCADE,
  revision bigint NOT NULL,
  serial bigint NOT NULL,
  at timestamptz NOT NULL,
  -- The key; null: nobody asked.
  by text,
  door text NOT NULL,
  added jsonb NOT NULL DEFAULT '[]',
  removed jsonb NOT NULL DEFAULT '[]',
  served_at timestamptz,
  PRIMARY KEY (zone_id, revision)
);
CREATE INDEX zone_changes_waiting ON zone_changes (zone_id, revision) WHERE served_at IS NULL;
CREATE INDEX zone_changes_age ON zone_changes (at);

CREATE TRIGGER zones_of_new_domains AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION zones_of_new_domains();
CREATE TRIGGER zone_of_other_holder AFTER UPDATE OF reseller_id ON domains FOR EACH ROW
  WHEN (OLD.reseller_id <> NEW.reseller_id) EXECUTE FUNCTION zone_of_other_holder();
CREATE TRIGGER zones_leave AFTER INSERT ON domains_ended REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION zones_leave();
CREATE TRIGGER zone_of_order AFTER INSERT ON orders FOR EACH ROW
  WHEN (NEW.kind = 'nameservers') EXECUTE FUNCTION zone_of_order();
