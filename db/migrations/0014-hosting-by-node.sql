-- What is on a node, without reading the accounts of all others.
CREATE INDEX hosting_accounts_node ON hosting_accounts (node_id) WHERE status NOT IN ('Failed', 'Removed');

-- Since when a move has only failed in the state that it is in.
ALTER TABLE hosting_moves ADD COLUMN trouble_since timestamptz;

-- Accounts that are called by a name of their owner's portfolio answer there too; those that are older than that rule as well.
WITH named AS (
  INSERT INTO host_names (account_id, host_name, status, created_at)
    SELECT id, identifier, 'Waiting', now() FROM hosting_accounts
    WHERE status NOT IN ('Failed', 'Removed')
      AND EXISTS (SELECT FROM domains
        WHERE domain_name = ANY (names_at_and_above(identifier)) AND reseller_id = hosting_accounts.reseller_id)
    ON CONFLICT DO NOTHING
    RETURNING id)
SELECT host_names_look(array_agg(id)) FROM named;
