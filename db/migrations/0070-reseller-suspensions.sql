-- An account's reseller can suspend it, too. It is served only while neither its reseller's suspension nor the operator's holds.
ALTER TABLE hosting_accounts
  ADD COLUMN reseller_suspended_at timestamptz,
  ADD COLUMN reseller_suspended_reason text,
  ADD CHECK (reseller_suspended_reason IS NULL OR reseller_suspended_at IS NOT NULL);

CREATE OR REPLACE TRIGGER count_version BEFORE UPDATE OF status, node_id, uid, must_check_uid, error_text, wanted_version,
    applied_version, password_hash_sealed, suspended_at, reseller_suspended_at, removal_requested_at, is_frozen, ftp_is_off,
    backoff_count, next_step_at
    ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE OR REPLACE TRIGGER hosting_move_look AFTER UPDATE OF applied_version, suspended_at, reseller_suspended_at, removal_requested_at
    ON hosting_accounts
  FOR EACH ROW WHEN (OLD.applied_version IS DISTINCT FROM NEW.applied_version
    OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at
    OR OLD.reseller_suspended_at IS DISTINCT FROM NEW.reseller_suspended_at
    OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at)
  EXECUTE FUNCTION hosting_move_look();
