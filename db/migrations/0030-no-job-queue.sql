-- No release since 0028 takes jobs from the queue, so nothing enqueues them any more. A database that has had the queue keeps it,
-- because processes of an older release may still run during an upgrade. A new database has only the stand-in (db/job-queue.sql).
CREATE OR REPLACE FUNCTION host_names_look(ids bigint[]) RETURNS void LANGUAGE sql AS $$
  -- Sorted, so that two transactions cannot wait for each other.
  UPDATE host_names SET next_step_at = now() FROM (
    SELECT id FROM host_names WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE) AS found
  WHERE host_names.id = found.id
$$;

DO $$ BEGIN
  IF to_regclass('graphile_worker.migrations') IS NULL THEN
    DROP FUNCTION call_job;
    DROP SCHEMA graphile_worker CASCADE;
  END IF;
END $$;

-- Operators see this text: it now names the endpoint as the documents do.
UPDATE alarms SET subject = 'the agents'' endpoint' WHERE subject = 'the door of the nodes';
