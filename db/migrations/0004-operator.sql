-- What a machine must not decide, and what an operator wishes.

-- What a person has to look at. One row for each time that it begins; it is open until it is resolved.
CREATE TABLE alarms (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  subject text NOT NULL,
  note text NOT NULL,
  since timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  count integer NOT NULL,
  resolved_at timestamptz
);
-- One that is raised again while it is open is the same one.
CREATE UNIQUE INDEX alarms_open ON alarms (kind, subject) WHERE resolved_at IS NULL;

ALTER TABLE registration_orders
  -- Since when the operator wants it cancelled, although it may have been sent.
  ADD COLUMN cancel_requested_at timestamptz,
  -- What the operator says it is; the order's next step holds it against the registry, and empties these.
  ADD COLUMN settle_as text CHECK (settle_as IN ('registered', 'failed', 'failed-forced')),
  ADD COLUMN settle_note text,
  -- What the registry asks for a name with a price of its own (RFC 8748), and the reseller's operator accepts.
  ADD COLUMN fee_amount numeric,
  ADD COLUMN fee_currency text,
  ADD CHECK ((fee_amount IS NULL) = (fee_currency IS NULL)),
  -- cancel: the name is held, and on its way to be deleted.
  DROP CONSTRAINT registration_orders_phase_check,
  ADD CONSTRAINT registration_orders_phase_check CHECK (phase IN ('check', 'create', 'waiting', 'verify', 'cancel'));

ALTER TABLE poll_messages
  ADD COLUMN done_at timestamptz,
  ADD COLUMN done_note text;
CREATE INDEX poll_messages_open ON poll_messages (registry_id, received_at) WHERE needs_operator AND done_at IS NULL;

ALTER TABLE registries
  -- Announced by the registry, entered by the operator: until it ends nothing is sent, and nothing counts as a failure.
  ADD COLUMN maintenance_from timestamptz,
  ADD COLUMN maintenance_until timestamptz,
  ADD CHECK (maintenance_from < maintenance_until);
