-- Enqueues a job, in place of the one of the same key that waits; the one way to do so, but for orders that are new.
--
-- add_job looks first whether the key's job is taken, and replaces it then; a job that is taken between this look and the
-- replacement stays, and nothing is added: whoever took it may have read its row before the caller's change, and would be the
-- last to look. So it is added once more.
--
-- PostgreSQL tells every queue of every new job, and nearly all of them are steps of orders. The other queues do not listen to
-- that, and are told of theirs by themselves.
CREATE FUNCTION call_job(task text, payload json, job_key text, delay_ms double precision DEFAULT 0,
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
  IF delay_ms <= 0 AND task NOT LIKE 'order:%' AND task NOT LIKE 'renewal:%' THEN
    PERFORM pg_notify('job_called', task);
  END IF;
  RETURN job_id;
END $$;

CREATE OR REPLACE FUNCTION host_names_look(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  SELECT call_job('host-name', json_build_object('hostNameId', id), 'host-name:' || id) FROM unnest(ids) AS id
$$;

CREATE OR REPLACE FUNCTION hosting_move_look() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM call_job('hosting-move', json_build_object('moveId', id), 'move:' || id)
  FROM hosting_moves WHERE account_id = NEW.id AND ended_at IS NULL
    AND (state IN ('Freezing', 'Leaving') OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at);
  RETURN NULL;
END $$;
