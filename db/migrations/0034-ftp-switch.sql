-- Whether the account's owner has disabled FTP. Without a password (an empty hash) nobody can log in either, until one is set.
ALTER TABLE hosting_accounts ADD COLUMN ftp_is_off boolean NOT NULL DEFAULT false;

CREATE OR REPLACE TRIGGER count_version BEFORE UPDATE OF status, node_id, uid, must_check_uid, error_text, wanted_version,
    applied_version, password_hash_sealed, suspended_at, removal_requested_at, is_frozen, ftp_is_off, backoff_count, next_step_at
    ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION count_version();
