-- expand
-- Messages to the operator about alarms. A channel is a row with work to do, for all processes that are set up to send by it; a
-- trigger on alarms writes the messages, in the transaction that raises or resolves one, and touches no row that others write.

CREATE TABLE alarm_channels (
  name text PRIMARY KEY,
  -- When a process that is set up to send by it did a step.
  seen_at timestamptz NOT NULL,
  -- Since when every message has failed, with the reason for the last failure.
  failing_since timestamptz,
  failure_count integer NOT NULL DEFAULT 0,
  paused_until timestamptz,
  error_text text,
  next_step_at timestamptz NOT NULL,
  version bigint NOT NULL DEFAULT 0
);
CREATE TRIGGER count_version BEFORE UPDATE ON alarm_channels FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON alarm_channels FOR EACH ROW
  EXECUTE FUNCTION row_is_due('alarm-channels', 'name');

CREATE TABLE alarm_messages (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  channel text NOT NULL REFERENCES alarm_channels ON DELETE CASCADE,
  -- Null: a test.
  alarm_id bigint REFERENCES alarms ON DELETE CASCADE,
  what text NOT NULL CHECK (what IN ('opened', 'resolved', 'test')),
  created_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'Pending' CHECK (status IN ('Pending', 'Sent', 'Failed')),
  attempts integer NOT NULL DEFAULT 0,
  sent_at timestamptz,
  -- The first message of the summary that it was sent in; null: it was sent alone, or begins a summary.
  summary_of bigint,
  error_text text,
  CHECK ((what = 'test') = (alarm_id IS NULL)),
  CHECK ((status = 'Sent') = (sent_at IS NOT NULL)),
  UNIQUE (alarm_id, channel, what)
);
CREATE INDEX alarm_messages_waiting ON alarm_messages (channel, attempts, id) WHERE status = 'Pending';
CREATE INDEX alarm_messages_sent ON alarm_messages (channel, sent_at) WHERE summary_of IS NULL AND sent_at IS NOT NULL;
CREATE INDEX alarm_messages_age ON alarm_messages (created_at);

CREATE TRIGGER told_opened AFTER INSERT ON alarms FOR EACH ROW EXECUTE FUNCTION alarm_told();
CREATE TRIGGER told_resolved AFTER UPDATE OF resolved_at ON alarms FOR EACH ROW
  WHEN (OLD.resolved_at IS NULL AND NEW.resolved_at IS NOT NULL) EXECUTE FUNCTION alarm_told();
