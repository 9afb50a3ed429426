-- Asks the process whose transaction this is to send a notification after the commit, by a message on its connection
-- (src/db/notifier.ts). A pg_notify in the transaction would hold a lock of the whole server until the commit is on the standby.
-- A repeat within the transaction is left out, unless it is long ago.
CREATE OR REPLACE FUNCTION notify_after_commit(channel text, payload text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  entry text := E'\n' || channel || ' ' || payload || E'\n';
  asked text := coalesce(current_setting('deedhouse.notified', true), '');
BEGIN
  IF position(entry IN asked) = 0 THEN
    PERFORM set_config('deedhouse.notified', right(asked || entry, 1000), true);
    RAISE INFO USING MESSAGE = channel, DETAIL = payload, ERRCODE = 'DHNFY';
  END IF;
END $$;
