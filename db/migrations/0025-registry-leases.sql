-- Who owns a registry's sessions: a lease by this database's time, which ends although its holder hangs
-- (docs/decisions/0007-ownership-is-a-lease.md). The holder renews its row every few seconds: room for updates in place.
CREATE TABLE registry_leases (
  registry_id text PRIMARY KEY,
  -- Counts the owners. An attempt carries its owner's epoch, and none is committed under an epoch that is over.
  epoch bigint NOT NULL,
  -- The process, for people.
  holder text NOT NULL,
  since timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The connection that holds the owner's advisory lock. A version before this one has the lock and no row here.
  lock_pid integer NOT NULL,
  lock_started_at timestamptz NOT NULL,
  -- An owner that had lost its link to the registry let go then; the worker whose connection has this pid is next.
  yielded_at timestamptz,
  yielded_to integer
) WITH (fillfactor = 50);

-- Null: of a version without leases.
ALTER TABLE order_attempts ADD COLUMN epoch bigint;
ALTER TABLE renewal_attempts ADD COLUMN epoch bigint;
