-- What resellers say about people: sealed, and found by a digest that nobody can compute without the master key.
CREATE TABLE contacts (
  reseller_id bigint NOT NULL REFERENCES resellers (id),
  digest text NOT NULL,
  data_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (reseller_id, digest)
);

-- The contacts that a registration names, by role: digests. Without any the reseller's profile is the contact.
ALTER TABLE registration_orders ADD COLUMN contacts jsonb;

-- The digests so far were made without a key, so that guesses could be checked. Their contacts stay with their names.
UPDATE registry_contacts SET data_digest = NULL WHERE data_digest IS NOT NULL;
