-- The migrations before 0030 enqueue jobs in a queue that came from a library. A new database has no such queue: this stands in
-- for it, with the names that those files use, until 0030 removes it. A database that has the queue keeps it.
DO $$ BEGIN
  IF to_regnamespace('graphile_worker') IS NULL THEN
    CREATE SCHEMA graphile_worker;
    CREATE TABLE graphile_worker._private_tasks (id int, identifier text);
    CREATE TABLE graphile_worker._private_jobs (id bigint, task_id int, payload json, run_at timestamptz);
    CREATE FUNCTION graphile_worker.add_job(task text, payload json, job_key text, run_at timestamptz DEFAULT NULL,
      max_attempts int DEFAULT NULL, priority int DEFAULT NULL, job_key_mode text DEFAULT NULL)
      RETURNS graphile_worker._private_jobs LANGUAGE plpgsql AS $add_job$
    BEGIN
      RAISE 'A new database has nothing to enqueue.';
    END $add_job$;
  END IF;
END $$;
