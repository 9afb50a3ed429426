-- Resellers, what they own, what they asked for, and what was answered.
-- Names and identifiers are COLLATE "C": the lists are promised in byte order (and byte comparison is the quickest).

CREATE TABLE resellers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('reseller', 'plain')),
  rate_limit integer NOT NULL CHECK (rate_limit > 0),
  hosting_accounts_max integer NOT NULL,
  hosting_bytes_max bigint NOT NULL,
  created_at timestamptz NOT NULL
);

-- Who a reseller's names are registered for. A row is a complete profile: what may be missing is nullable.
CREATE TABLE reseller_profiles (
  reseller_id bigint PRIMARY KEY REFERENCES resellers,
  full_name text NOT NULL,
  organisation text,
  email text NOT NULL,
  phone text NOT NULL,
  street text NOT NULL,
  city text NOT NULL,
  state_or_province text,
  postal_code text NOT NULL,
  country_code text NOT NULL CHECK (country_code ~ '^[A-Z]{2}$'),
  updated_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
  id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
  reseller_id bigint NOT NULL REFERENCES resellers,
  label text NOT NULL,
  secret_sealed bytea NOT NULL,
  scopes text[] NOT NULL,
  allowed_addresses text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_keys_reseller ON api_keys (reseller_id);

-- Every api process caches keys together with their reseller's settings; this is how it hears that one changed.
CREATE FUNCTION notify_api_key_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('api_key_changed', OLD.id::text);
  RETURN NULL;
END $$;
CREATE TRIGGER api_key_changed AFTER UPDATE OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION notify_api_key_changed();

CREATE FUNCTION notify_reseller_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('api_key_changed', id) FROM api_keys WHERE reseller_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER reseller_keys_changed AFTER UPDATE ON resellers
  FOR EACH ROW EXECUTE FUNCTION notify_reseller_keys_changed();

-- The answers of committed writes, by the nonce that asked: an identical resend gets the same answer.
CREATE TABLE committed_requests (
  key_id text NOT NULL,
  nonce text NOT NULL,
  signed_at bigint NOT NULL,
  request_digest bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, nonce)
);
CREATE INDEX committed_requests_signed_at ON committed_requests (signed_at);

-- The answers of requests that carried an Idempotency-Key.
CREATE TABLE idempotent_requests (
  reseller_id bigint NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  idempotency_key text NOT NULL,
  body_mac bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (reseller_id, method, path, idempotency_key)
);
CREATE INDEX idempotent_requests_created_at ON idempotent_requests (created_at);

-- What the owner of a registry's sessions tells everybody else about it.
CREATE TABLE registries (
  id text PRIMARY KEY,
  circuit_open_until timestamptz,
  creates_paused_reason text,
  updated_at timestamptz NOT NULL
);

-- Questions to the owner of a registry's sessions; gone once taken, and worthless after a crash.
CREATE UNLOGGED TABLE registry_checks (
  id uuid PRIMARY KEY,
  registry_id text NOT NULL,
  domain_name text NOT NULL,
  asked_at timestamptz NOT NULL
);

CREATE TABLE registration_orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  domain_name text COLLATE "C" NOT NULL,
  suffix text NOT NULL,
  registry_id text NOT NULL,
  period_years integer NOT NULL,
  auth_info_sealed bytea NOT NULL,
  status text NOT NULL CHECK (status IN
    ('NotProvisioned', 'Processing', 'Pending', 'Errors', 'Finished', 'FailedValidation', 'Cancelled')),
  phase text CHECK (phase IN ('check', 'create', 'waiting', 'verify')),
  verify_cause text CHECK (verify_cause IN ('lost', 'exists')),
  -- A name seen as ours after a lost answer counts only when a second look at or after this time agrees (RFC 5734 §3).
  confirm_after timestamptz,
  contact_renewed boolean NOT NULL DEFAULT false,
  backoff_count integer NOT NULL DEFAULT 0,
  waiting_since timestamptz,
  next_step_at timestamptz,
  reason text,
  operator_note text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  CHECK ((status = 'Processing') = (phase IS NOT NULL)),
  CHECK ((phase = 'verify') = (verify_cause IS NOT NULL)),
  CHECK ((status IN ('Errors', 'Finished', 'FailedValidation', 'Cancelled')) = (ended_at IS NOT NULL))
);
-- The index that decides races: one live order per name in the whole service.
CREATE UNIQUE INDEX registration_orders_live_name ON registration_orders (domain_name)
  WHERE status IN ('NotProvisioned', 'Processing', 'Pending');
CREATE INDEX registration_orders_name ON registration_orders (domain_name, id);
CREATE INDEX registration_orders_finished ON registration_orders (suffix, ended_at DESC) WHERE status = 'Finished';

-- Every EPP command that changes the registry, committed before its bytes are written. No answer = possibly sent.
CREATE TABLE order_attempts (
  cl_trid text PRIMARY KEY,
  order_id bigint NOT NULL REFERENCES registration_orders,
  number integer NOT NULL,
  command text NOT NULL,
  committed_at timestamptz NOT NULL,
  answered_at timestamptz,
  result_code integer,
  sv_trid text,
  UNIQUE (order_id, number)
);

CREATE TABLE order_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id bigint NOT NULL REFERENCES registration_orders,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  phase text,
  note text
);
CREATE INDEX order_history_order ON order_history (order_id, id);

-- Contacts that a registry is known to hold for us; their ids are made from what they say.
CREATE TABLE registry_contacts (
  registry_id text NOT NULL,
  contact_id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (registry_id, contact_id)
);

CREATE TABLE poll_messages (
  registry_id text NOT NULL,
  message_id text NOT NULL,
  received_at timestamptz NOT NULL,
  order_id bigint REFERENCES registration_orders,
  needs_operator boolean NOT NULL,
  payload text NOT NULL,
  PRIMARY KEY (registry_id, message_id)
);

CREATE TABLE domains (
  domain_name text COLLATE "C" PRIMARY KEY,
  reseller_id bigint NOT NULL REFERENCES resellers,
  order_id bigint UNIQUE REFERENCES registration_orders,
  registry_id text NOT NULL,
  registration_date timestamptz NOT NULL,
  expiration_date timestamptz NOT NULL,
  registry_ex_date timestamptz NOT NULL,
  will_renew boolean NOT NULL,
  status text NOT NULL,
  name_servers text[] NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX domains_portfolio ON domains (reseller_id, domain_name);

-- Names that cannot be registered through the API: a whole name, or a bare label (blocked under every suffix).
CREATE TABLE blocked_names (
  name text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE SEQUENCE service_pack_id START 14490;
CREATE TABLE service_packs (
  id bigint PRIMARY KEY DEFAULT nextval('service_pack_id'),
  name text NOT NULL,
  disk_quota_bytes bigint NOT NULL CHECK (disk_quota_bytes > 0),
  files_max integer NOT NULL CHECK (files_max > 0),
  ftp_sessions_max integer NOT NULL CHECK (ftp_sessions_max > 0),
  offered_to bigint[],
  retired_at timestamptz,
  created_at timestamptz NOT NULL
);

-- Uids are never used twice, so that a trash folder named by one can never be somebody else's.
CREATE SEQUENCE hosting_uid START 200000;
CREATE TABLE hosting_accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  identifier text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  servicepack_id bigint NOT NULL REFERENCES service_packs,
  uid bigint NOT NULL UNIQUE DEFAULT nextval('hosting_uid'),
  password_hash_sealed bytea NOT NULL,
  disk_quota_bytes bigint NOT NULL,
  files_max integer NOT NULL,
  ftp_sessions_max integer NOT NULL,
  disk_used_bytes bigint NOT NULL DEFAULT 0,
  status text NOT NULL CHECK (status IN ('Provisioning', 'Ready', 'Suspended', 'Failed')),
  node_id text,
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz,
  operator_note text,
  error_text text,
  created_at timestamptz NOT NULL,
  ready_at timestamptz,
  updated_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX hosting_accounts_identifier ON hosting_accounts (identifier) WHERE status <> 'Failed';
CREATE UNIQUE INDEX hosting_accounts_portfolio ON hosting_accounts (reseller_id, identifier) WHERE status <> 'Failed';
CREATE INDEX hosting_accounts_reseller ON hosting_accounts (reseller_id, identifier, id);
CREATE INDEX hosting_accounts_ready ON hosting_accounts (ready_at DESC) WHERE ready_at IS NOT NULL;

CREATE TABLE hosting_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  note text
);
CREATE INDEX hosting_history_account ON hosting_history (account_id, id);

-- Says that an api has answered requests of this database: a missing journal of nonces then means that it was lost.
CREATE TABLE replay_journals (
  started_at timestamptz NOT NULL
);
