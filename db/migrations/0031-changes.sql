-- Orders about a name that is registered already: name servers, contacts, renewals on request, and so on.
CREATE TABLE changes (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  change_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers (id),
  domain_name text COLLATE "C" NOT NULL,
  registry_id text NOT NULL,
  kind text NOT NULL,
  -- What was ordered, and what the first step found that later ones need.
  input jsonb NOT NULL,
  found jsonb NOT NULL DEFAULT '{}',
  -- What must not be read in the database; erased at the end.
  secret_sealed bytea,
  -- Goes before orders that only set a value.
  is_urgent boolean NOT NULL,
  status text NOT NULL CHECK (status IN
    ('NotProvisioned', 'Processing', 'Pending', 'Errors', 'Finished', 'FailedValidation', 'Cancelled')),
  phase text CHECK (phase IN ('send', 'verify')),
  verify_cause text CHECK (verify_cause IN ('answered', 'lost')),
  confirm_after timestamptz,
  backoff_count integer NOT NULL DEFAULT 0,
  disputes integer NOT NULL DEFAULT 0,
  waiting_since timestamptz,
  next_step_at timestamptz,
  reason text,
  operator_note text,
  settle_as text CHECK (settle_as IN ('done', 'failed')),
  settle_note text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((status = 'Processing') = (phase IS NOT NULL)),
  CHECK ((phase = 'verify') = (verify_cause IS NOT NULL)),
  CHECK ((status IN ('Errors', 'Finished', 'FailedValidation', 'Cancelled')) = (ended_at IS NOT NULL))
);
CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON changes FOR EACH ROW EXECUTE FUNCTION live_row();
CREATE INDEX changes_step ON changes (registry_id, next_step_at) WHERE ended_at IS NULL;
CREATE INDEX changes_live_name ON changes (domain_name, id) WHERE ended_at IS NULL;
CREATE INDEX changes_live_reseller ON changes (reseller_id) WHERE ended_at IS NULL;
CREATE INDEX changes_name ON changes (domain_name, id);
CREATE INDEX changes_finished ON changes (kind, ended_at DESC) WHERE status = 'Finished';
-- Whoever asks, a name's term is paid for once.
CREATE UNIQUE INDEX changes_live_paid ON changes (domain_name) WHERE ended_at IS NULL AND kind IN ('renew', 'restore');

CREATE TABLE change_history (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  change_id bigint NOT NULL REFERENCES changes (id),
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  phase text,
  note text
);
CREATE INDEX change_history_change ON change_history (change_id, id);

ALTER TABLE attempts ADD COLUMN change_id bigint REFERENCES changes (id);
ALTER TABLE attempts DROP CONSTRAINT attempts_check;
ALTER TABLE attempts ADD CHECK (num_nonnulls(order_id, renewal_id, change_id) = 1);
CREATE UNIQUE INDEX attempts_change_id_number_key ON attempts (change_id, number) WHERE change_id IS NOT NULL;

-- What the registry last showed of a name.
ALTER TABLE domains ADD COLUMN statuses text[] NOT NULL DEFAULT '{}';
ALTER TABLE domains ADD COLUMN delegation jsonb NOT NULL DEFAULT '[]';
ALTER TABLE domains ADD COLUMN handles jsonb;
ALTER TABLE domains ADD COLUMN dnssec jsonb;
ALTER TABLE domains ADD COLUMN shown_at timestamptz;

-- Keys that could do everything still can do what destroys nothing.
UPDATE api_keys SET scopes = scopes || '{domains:update,contacts:read}'
  WHERE scopes @> '{domains:read,domains:register,domains:renew,hosting:read,hosting:create,hosting:update,hosting:delete,servicepacks:read}'
    AND NOT scopes && '{domains:update,contacts:read}';
