-- What the registry last showed of a name's authInfo, as a MAC: a code that a restored database does not know is noticed by it. There
-- is no row until the next look after an order has set another code.
CREATE TABLE seen_auth_codes (
  domain_name text COLLATE "C" PRIMARY KEY REFERENCES domains ON DELETE CASCADE,
  mac bytea NOT NULL
);
