-- Steps of orders and renewals are no longer most of the jobs, since an order needs none to begin: their queues too are told of
-- their jobs by themselves. Otherwise they would see one at their next look, up to a second later.
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
  END IF;
  RETURN job_id;
END $$;
