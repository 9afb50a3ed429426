-- Addresses of resellers that get their events. The row is the job: a step turns new events into deliveries, and sends those that are
-- due. A delivery keeps its event's id however often it is sent.
CREATE TABLE webhooks (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  webhook_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  url text NOT NULL,
  description text NOT NULL,
  -- Types and families; null: all.
  types text[],
  -- Those of the key that wrote this row last: it gets no events that the key may not read.
  scopes text[] NOT NULL,
  secret_sealed bytea NOT NULL,
  -- Signs, too, until then.
  previous_secret_sealed bytea,
  previous_until timestamptz,
  is_enabled boolean NOT NULL DEFAULT true,
  disabled_reason text,
  -- Since when every delivery has failed.
  failing_since timestamptz,
  failure_count integer NOT NULL DEFAULT 0,
  -- The place in the log of events up to which there are deliveries.
  era integer NOT NULL,
  transaction xid8 NOT NULL,
  number bigint NOT NULL,
  -- What it shows happened before the webhook was made, although it lies after the place. Null: nothing.
  begun pg_snapshot DEFAULT pg_current_snapshot(),
  created_at timestamptz NOT NULL,
  next_step_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((previous_secret_sealed IS NULL) = (previous_until IS NULL)),
  CHECK (is_enabled OR next_step_at IS NULL)
);
CREATE INDEX webhooks_reseller ON webhooks (reseller_id, id);
CREATE INDEX webhooks_step ON webhooks (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE TRIGGER count_version BEFORE UPDATE ON webhooks FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON webhooks FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL) EXECUTE FUNCTION row_is_due('webhooks');

CREATE TABLE webhook_deliveries (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  webhook_id bigint NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_id text NOT NULL,
  type text NOT NULL,
  body jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'Pending' CHECK (status IN ('Pending', 'Delivered', 'Failed')),
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  -- It is given up after this time.
  ends_at timestamptz NOT NULL,
  attempted_at timestamptz,
  duration_ms integer,
  answer_status integer,
  answer_text text,
  error_text text,
  UNIQUE (webhook_id, event_id)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, created_at, event_id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

-- Keys that could do everything still can do what destroys nothing.
UPDATE api_keys SET scopes = scopes || '{webhooks:manage}'
  WHERE scopes @> '{domains:read,domains:register,domains:renew,domains:update,contacts:read,hosting:read,hosting:create,hosting:update,hosting:delete,servicepacks:read}'
    AND NOT scopes && '{webhooks:manage}';
