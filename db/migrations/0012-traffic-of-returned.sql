-- An account that comes back to a node in the same month is counted from 0 there, under another uid.
ALTER TABLE hosting_traffic
  -- Whose count it is; null: it was written before there was this column.
  ADD COLUMN uid bigint,
  -- What is in `bytes` of earlier uids.
  ADD COLUMN bytes_before bigint NOT NULL DEFAULT 0 CHECK (bytes_before >= 0);
