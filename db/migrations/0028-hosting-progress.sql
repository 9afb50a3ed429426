-- Accounts, moves, host names, questions to name servers, comparisons of nodes and the workers' chores are rows that say when
-- they have work to do. A release that knows only the queue goes on with its jobs, which find nothing left to do.

ALTER TABLE hosting_accounts ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE hosting_moves ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE host_names ADD COLUMN version bigint NOT NULL DEFAULT 0, ADD COLUMN next_step_at timestamptz;
ALTER TABLE host_name_questions ADD COLUMN version bigint NOT NULL DEFAULT 0,
  ADD COLUMN next_step_at timestamptz DEFAULT now();
ALTER TABLE hosting_reconciles ADD COLUMN version bigint NOT NULL DEFAULT 0, ADD COLUMN next_step_at timestamptz;
CREATE TABLE chores (
  name text PRIMARY KEY,
  next_step_at timestamptz,
  version bigint NOT NULL DEFAULT 0
);
-- What the worker was at work on when it said last that it lives.
ALTER TABLE workers ADD COLUMN doing text;

-- What waits in the queue is due when its job is.
CREATE TEMPORARY TABLE queued ON COMMIT DROP AS
  SELECT task.identifier AS task, job.payload, job.run_at
  FROM graphile_worker._private_jobs AS job JOIN graphile_worker._private_tasks AS task ON task.id = job.task_id;
UPDATE hosting_accounts SET next_step_at = NULL WHERE status IN ('Failed', 'Removed') AND next_step_at IS NOT NULL;
UPDATE hosting_accounts SET next_step_at = now()
  WHERE applied_version < wanted_version AND status NOT IN ('Failed', 'Removed') AND next_step_at IS NULL;
UPDATE hosting_accounts SET next_step_at = least(next_step_at, queued.run_at) FROM queued
  WHERE task = 'provision' AND hosting_accounts.id = (payload ->> 'accountId')::bigint AND status NOT IN ('Failed', 'Removed');
UPDATE hosting_moves SET next_step_at = CASE WHEN ended_at IS NULL THEN coalesce(next_step_at, now()) END;
UPDATE hosting_moves SET next_step_at = least(next_step_at, queued.run_at) FROM queued
  WHERE task = 'hosting-move' AND hosting_moves.id = (payload ->> 'moveId')::bigint AND ended_at IS NULL;
UPDATE host_names SET next_step_at = next_check_at WHERE next_check_at IS NOT NULL;
UPDATE host_names SET next_step_at = least(next_step_at, queued.run_at) FROM queued
  WHERE task = 'host-name' AND host_names.id = (payload ->> 'hostNameId')::bigint;
UPDATE hosting_reconciles SET next_step_at = now() WHERE (done_at >= wanted_at) IS NOT TRUE;
INSERT INTO chores (name, next_step_at) VALUES
  ('housekeeping', now()),
  ('reconciles', date_trunc('day', now(), 'UTC') + CASE
    WHEN now() < date_trunc('day', now(), 'UTC') + interval '3 h 23 min' THEN interval '3 h 23 min'
    ELSE interval '1 day 3 h 23 min' END),
  ('bare-names', (SELECT min(run_at) FROM queued WHERE task = 'bare-names'));

CREATE INDEX hosting_accounts_next_step ON hosting_accounts (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX hosting_moves_next_step ON hosting_moves (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX host_names_next_step ON host_names (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX host_name_questions_next_step ON host_name_questions (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX hosting_reconciles_next_step ON hosting_reconciles (next_step_at) WHERE next_step_at IS NOT NULL;

-- An account that is not what it shall be has work to do, and so has a move that has not ended. Releases before this one write
-- no time where they enqueue a job.
CREATE FUNCTION hosting_account_has_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.applied_version < NEW.wanted_version AND NEW.status NOT IN ('Failed', 'Removed') THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION hosting_move_has_work() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.ended_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at, wanted_version ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION hosting_account_has_work();
CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at ON hosting_moves
  FOR EACH ROW EXECUTE FUNCTION hosting_move_has_work();

-- What an account uses, how far a move's copying is: these are reports, and overtake nobody.
CREATE TRIGGER count_version BEFORE UPDATE OF status, node_id, uid, must_check_uid, error_text, wanted_version, applied_version,
    password_hash_sealed, suspended_at, removal_requested_at, is_frozen, backoff_count, next_step_at ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER count_version BEFORE UPDATE OF state, run, target_uid, must_check_uid, is_cancelled, backoff_count, next_step_at
    ON hosting_moves
  FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER count_version BEFORE UPDATE ON host_names FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER count_version BEFORE UPDATE ON host_name_questions FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER count_version BEFORE UPDATE ON hosting_reconciles FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER count_version BEFORE UPDATE ON chores FOR EACH ROW EXECUTE FUNCTION count_version();

-- The clock that writes a time and this one need not agree: the row's own time of change is the former's.
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at, wanted_version ON hosting_accounts FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.updated_at))
  EXECUTE FUNCTION row_is_due('hosting-accounts');
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON hosting_moves FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.updated_at))
  EXECUTE FUNCTION row_is_due('hosting-moves');
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON host_names FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.created_at))
  EXECUTE FUNCTION row_is_due('host-names');
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE ON host_name_questions FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL) EXECUTE FUNCTION row_is_due('host-name-questions');
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON hosting_reconciles FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.wanted_at))
  EXECUTE FUNCTION row_is_due('hosting-reconciles');

-- What a release before this one enqueues is due for this one, too.
CREATE OR REPLACE FUNCTION call_job(task text, payload json, job_key text, delay_ms double precision DEFAULT 0,
  priority integer DEFAULT 0, key_mode text DEFAULT 'replace') RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  job_id bigint;
BEGIN
  LOOP
    -- A job is tried until it is done: what was acknowledged is never given up because a machine was down long.
    SELECT job.id INTO job_id FROM graphile_worker.add_job(task, payload, job_key := call_job.job_key,
      run_at := clock_timestamp() + delay_ms * interval '1 millisecond', max_attempts := 32767,
      priority := call_job.priority, job_key_mode := key_mode) AS job;
    EXIT WHEN job_id IS NOT NULL;
  END LOOP;
  IF delay_ms <= 0 THEN
    PERFORM pg_notify('job_called', task);
    IF task = 'provision' THEN
      UPDATE hosting_accounts SET next_step_at = now()
        WHERE id = (payload ->> 'accountId')::bigint AND status NOT IN ('Failed', 'Removed');
    ELSIF task = 'hosting-move' THEN
      UPDATE hosting_moves SET next_step_at = now() WHERE id = (payload ->> 'moveId')::bigint AND ended_at IS NULL;
    ELSIF task = 'hosting-reconcile' THEN
      UPDATE hosting_reconciles SET next_step_at = now() WHERE node_id = payload ->> 'nodeId';
    END IF;
  END IF;
  RETURN job_id;
END $$;

-- In one order for all, so that two transactions cannot wait for each other.
CREATE OR REPLACE FUNCTION host_names_look(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE host_names SET next_step_at = now() FROM (
    SELECT id FROM host_names WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE) AS found
  WHERE host_names.id = found.id;
  -- For workers of releases before this one.
  PERFORM call_job('host-name', json_build_object('hostNameId', id), 'host-name:' || id) FROM unnest(ids) AS id;
END $$;
CREATE OR REPLACE FUNCTION host_names_of_ended_account() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM host_names WHERE account_id = NEW.id ORDER BY id FOR UPDATE;
  DELETE FROM host_names WHERE account_id = NEW.id;
  RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION hosting_move_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE hosting_moves SET next_step_at = NEW.updated_at WHERE account_id = NEW.id AND ended_at IS NULL
    AND (state IN ('Freezing', 'Leaving') OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at);
  RETURN NULL;
END $$;
