-- Whether uids were skipped at this node's word since an operator has last gone on with it: a node is believed once.
ALTER TABLE hosting_nodes ADD COLUMN has_skipped_uids boolean NOT NULL DEFAULT false;
