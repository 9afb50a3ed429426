-- An account's way from one node to another. A node is known to be there when it answers.

ALTER TABLE hosting_nodes ADD COLUMN last_seen_at timestamptz;

-- Of an account whose move ends soon: nobody can log in over FTP, so that what was copied stays what is there.
ALTER TABLE hosting_accounts ADD COLUMN is_frozen boolean NOT NULL DEFAULT false;

CREATE TABLE hosting_moves (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  state text NOT NULL
    CHECK (state IN ('Copying', 'Freezing', 'Finishing', 'Leaving', 'Moved', 'Returning', 'Returned')),
  source_node_id text NOT NULL,
  source_uid bigint NOT NULL,
  target_node_id text NOT NULL CHECK (target_node_id <> source_node_id),
  target_uid bigint NOT NULL UNIQUE DEFAULT nextval('hosting_uid'),
  -- Committed, until it has ended, on the one of the two nodes that the account is not at.
  reserved_bytes bigint NOT NULL CHECK (reserved_bytes >= 0),
  -- How long the source goes on serving the site after the switch.
  grace_seconds integer NOT NULL CHECK (grace_seconds >= 0),
  -- Counts who has worked on it: what an earlier one still does is not wanted any more.
  run integer NOT NULL DEFAULT 0,
  is_cancelled boolean NOT NULL DEFAULT false,
  files_done integer NOT NULL DEFAULT 0,
  files_total integer NOT NULL DEFAULT 0,
  bytes_done bigint NOT NULL DEFAULT 0,
  -- Failures in a row; when it is tried next, or what is due then is done.
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz,
  -- What it waits for.
  note text,
  -- Why the account stays where it was.
  reason text,
  created_at timestamptz NOT NULL,
  frozen_at timestamptz,
  switched_at timestamptz,
  ended_at timestamptz,
  updated_at timestamptz NOT NULL,
  CHECK ((ended_at IS NULL) = (state NOT IN ('Moved', 'Returned')))
);
CREATE UNIQUE INDEX hosting_moves_live ON hosting_moves (account_id) WHERE ended_at IS NULL;
CREATE INDEX hosting_moves_account ON hosting_moves (account_id, id);
CREATE INDEX hosting_moves_open ON hosting_moves (id) WHERE ended_at IS NULL;

-- A move that waits for its account goes on once its node has the freezing; one that is over but for its grace time sees
-- that the node which is left takes on a suspension too; and none outlives its account.
CREATE FUNCTION hosting_move_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM graphile_worker.add_job('hosting-move', json_build_object('moveId', id), job_key := 'move:' || id,
    max_attempts := 32767)
  FROM hosting_moves WHERE account_id = NEW.id AND ended_at IS NULL
    AND (state IN ('Freezing', 'Leaving') OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at);
  RETURN NULL;
END $$;
CREATE TRIGGER hosting_move_look AFTER UPDATE OF applied_version, suspended_at, removal_requested_at ON hosting_accounts
  FOR EACH ROW WHEN (OLD.applied_version IS DISTINCT FROM NEW.applied_version
    OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at
    OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at)
  EXECUTE FUNCTION hosting_move_look();

-- The last comparison of what a node has with what it shall have, and the next one that was asked for.
CREATE TABLE hosting_reconciles (
  node_id text PRIMARY KEY REFERENCES hosting_nodes ON DELETE CASCADE,
  wanted_at timestamptz NOT NULL,
  repairs boolean NOT NULL,
  removes_strays boolean NOT NULL,
  done_at timestamptz,
  -- How many there are of each kind, and the first of them.
  counts jsonb,
  findings jsonb,
  -- Why it could not be done.
  error_text text
);
