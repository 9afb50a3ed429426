-- A hosting account's row says what shall be; a job brings its node to that, and writes down up to which version it has.

-- A pack that is revised gets a next version under the same id; accounts keep the version that they were bought with.
ALTER TABLE hosting_accounts DROP CONSTRAINT hosting_accounts_servicepack_id_fkey;
ALTER TABLE service_packs
  ADD COLUMN version integer NOT NULL DEFAULT 1 CHECK (version > 0),
  -- What a site may send in a calendar month (UTC); 0: as much as it likes.
  ADD COLUMN traffic_bytes_month bigint NOT NULL DEFAULT 0 CHECK (traffic_bytes_month >= 0),
  -- Beside the platform's own name.
  ADD COLUMN host_names_max integer NOT NULL DEFAULT 10 CHECK (host_names_max >= 0),
  -- Without `ftp` nobody can log in; the others are for the reseller to read.
  ADD COLUMN features text[] NOT NULL DEFAULT '{ftp}',
  -- Only a node that has all of them takes an account of this pack.
  ADD COLUMN node_tags text[] NOT NULL DEFAULT '{}',
  DROP CONSTRAINT service_packs_pkey,
  ADD PRIMARY KEY (id, version);
-- Of a pack's versions, one at the most is on offer.
CREATE UNIQUE INDEX service_packs_on_offer ON service_packs (id) WHERE retired_at IS NULL;

ALTER TABLE hosting_accounts
  ADD COLUMN servicepack_version integer NOT NULL DEFAULT 1,
  ADD FOREIGN KEY (servicepack_id, servicepack_version) REFERENCES service_packs (id, version),
  ADD COLUMN files_used integer NOT NULL DEFAULT 0,
  -- Counts the changes of what shall be, and how many of them the node has taken on.
  ADD COLUMN wanted_version bigint NOT NULL DEFAULT 1,
  ADD COLUMN applied_version bigint NOT NULL DEFAULT 0,
  -- Since when what shall be is not what is.
  ADD COLUMN wanted_at timestamptz NOT NULL DEFAULT now(),
  -- It shall be suspended, and why; for the operator alone.
  ADD COLUMN suspended_at timestamptz,
  ADD COLUMN suspended_reason text,
  -- It shall be gone.
  ADD COLUMN removal_requested_at timestamptz,
  DROP CONSTRAINT hosting_accounts_status_check,
  ADD CONSTRAINT hosting_accounts_status_check
    CHECK (status IN ('Provisioning', 'Ready', 'Suspended', 'Failed', 'Removed')),
  ADD CHECK ((suspended_at IS NULL) = (suspended_reason IS NULL)),
  ADD CHECK (applied_version <= wanted_version);
UPDATE hosting_accounts SET applied_version = CASE status WHEN 'Provisioning' THEN 0 ELSE 1 END, wanted_at = created_at;
-- Accounts that are not yet what they shall be.
CREATE INDEX hosting_accounts_unapplied ON hosting_accounts (id) WHERE applied_version < wanted_version;

-- An account that failed or was removed stays, for its history and so that its uid never returns; it is not listed, not
-- counted, and its identifier is free.
DROP INDEX hosting_accounts_identifier;
DROP INDEX hosting_accounts_portfolio;
CREATE UNIQUE INDEX hosting_accounts_identifier ON hosting_accounts (identifier)
  WHERE status NOT IN ('Failed', 'Removed');
CREATE UNIQUE INDEX hosting_accounts_portfolio ON hosting_accounts (reseller_id, identifier)
  WHERE status NOT IN ('Failed', 'Removed');
CREATE OR REPLACE VIEW listed_names AS
  SELECT 'domains'::text AS list, reseller_id, domain_name AS name FROM domains
  UNION ALL
  SELECT 'hosting'::text AS list, reseller_id, identifier AS name FROM hosting_accounts
    WHERE status NOT IN ('Failed', 'Removed')
  UNION ALL
  SELECT 'renewals'::text AS list, reseller_id, list_key AS name FROM renewals
  UNION ALL
  SELECT 'renewals/' || status AS list, reseller_id, list_key AS name FROM renewals;
DROP TRIGGER list_inserted ON hosting_accounts;
DROP TRIGGER list_updated ON hosting_accounts;
DROP TRIGGER list_deleted ON hosting_accounts;
CREATE TRIGGER list_inserted AFTER INSERT ON hosting_accounts REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');
CREATE TRIGGER list_updated AFTER UPDATE ON hosting_accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');
CREATE TRIGGER list_deleted AFTER DELETE ON hosting_accounts REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');

-- What happens again and again in a row, as the tries while a node is down, is one line.
ALTER TABLE hosting_history
  ADD COLUMN last_at timestamptz,
  ADD COLUMN count integer NOT NULL DEFAULT 1;

-- What an account's site has sent, as each of its nodes counted it.
CREATE TABLE hosting_traffic (
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  node_id text NOT NULL,
  -- UTC, 2026-11.
  month text NOT NULL CHECK (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  bytes bigint NOT NULL CHECK (bytes >= 0),
  PRIMARY KEY (account_id, month, node_id)
);

-- Deleting an account and changing one have scopes of their own. Keys that could do everything still can.
UPDATE api_keys SET scopes = scopes || '{hosting:update,hosting:delete}'
  WHERE scopes @> '{domains:read,domains:register,domains:renew,hosting:read,hosting:create,servicepacks:read}'
    AND NOT scopes && '{hosting:update,hosting:delete}';
