-- Since when somebody has looked in vain: kept here, so that a worker's restart begins no new patience.
ALTER TABLE hosting_nodes ADD COLUMN silent_since timestamptz;
ALTER TABLE registries ADD COLUMN away_since timestamptz;
