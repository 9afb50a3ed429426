-- A URL must answer a test before it gets events. Those that are in use count as tested.
ALTER TABLE webhooks ADD COLUMN verified_at timestamptz;
UPDATE webhooks SET verified_at = created_at;
-- The machine of webhooks that fail also tries those that have not answered yet.
CREATE TRIGGER row_is_due_to_try AFTER INSERT OR UPDATE OF next_step_at ON webhooks FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL AND (NEW.verified_at IS NULL OR NEW.failing_since IS NOT NULL))
  EXECUTE FUNCTION row_is_due('webhooks-failing');

-- How fast an account may send to a host.
CREATE TABLE webhook_hosts (
  reseller_id bigint NOT NULL REFERENCES resellers,
  -- Empty: all that have not answered a test.
  host text NOT NULL,
  -- The requests so far, at the pace of the host, take until then.
  spent_until timestamptz NOT NULL,
  -- Answers 200 to 299, up to the number at which the pace is highest.
  answers integer NOT NULL DEFAULT 1,
  PRIMARY KEY (reseller_id, host)
);
CREATE INDEX webhook_hosts_age ON webhook_hosts (spent_until);
