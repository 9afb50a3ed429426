-- How a database that was restored from a backup is noticed: a node has seen a higher counter than we have given, or has a
-- higher uid than we have given out. From then on nothing is removed there until an operator has decided.
ALTER TABLE hosting_nodes
  -- Of the last command to the node; raised and committed before each.
  ADD COLUMN command_counter bigint NOT NULL DEFAULT 0,
  -- The highest uid that the node has told.
  ADD COLUMN uid_highest bigint NOT NULL DEFAULT 0,
  ADD COLUMN restored_at timestamptz;

-- As the agent told it last; nothing from an agent that does not tell it.
ALTER TABLE node_channels ADD COLUMN uid_highest bigint;

-- Until it is compared with what the nodes have: no node is told of it before.
ALTER TABLE hosting_accounts ADD COLUMN must_check_uid boolean NOT NULL DEFAULT false;
ALTER TABLE hosting_moves ADD COLUMN must_check_uid boolean NOT NULL DEFAULT false;

-- Which strays shall be removed: [{"identifier", "uid"}]. Takes the place of removes_strays, which nobody reads any more.
ALTER TABLE hosting_reconciles ADD COLUMN removes jsonb;

-- ALTER SEQUENCE makes nextval wait, so nobody draws a uid between the look at it and its change.
CREATE FUNCTION raise_hosting_uid(highest bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  ALTER SEQUENCE hosting_uid NO CYCLE;
  IF (SELECT last_value FROM hosting_uid) <= highest THEN
    EXECUTE format('ALTER SEQUENCE hosting_uid RESTART WITH %s', highest + 1);
  END IF;
END
$$;
