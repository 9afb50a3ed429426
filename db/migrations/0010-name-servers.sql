-- expand
-- The name servers that take zones from role `dns` (src/zones/servers/), the catalog that they take, and the beacon by which a
-- database knows that it is older than they are.

CREATE TABLE zone_catalog (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- The catalog is <label>.zones.invalid, so that a name server can take zones from two gateways.
  label text NOT NULL CHECK (label ~ '^[0-9a-f]{16}$'),
  serial bigint NOT NULL CHECK (serial BETWEEN 0 AND 4294967295),
  -- Of the labels of its zones when the serial was issued.
  members_hash text NOT NULL DEFAULT ''
);

CREATE TABLE name_servers (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[a-z0-9][a-z0-9-]{0,30}$'),
  host_name text NOT NULL UNIQUE,
  address text NOT NULL,
  port integer NOT NULL CHECK (port BETWEEN 1 AND 65535),
  -- Resolvers ask it, so a change is served once it shows it.
  is_public boolean NOT NULL,
  -- It gets zones for two minutes after it has shown that it knows no more than this database.
  proven_at timestamptz,
  -- Of the beacon, when it was read last. Null: it has never had one.
  beacon_serial bigint,
  seen_at timestamptz,
  -- It has shown a serial that this database has never issued.
  is_ahead boolean NOT NULL DEFAULT false,
  problem text,
  created_at timestamptz NOT NULL
);

CREATE TABLE name_server_keys (
  name text COLLATE "C" PRIMARY KEY,
  name_server text NOT NULL REFERENCES name_servers ON DELETE CASCADE,
  secret bytea NOT NULL,
  created_at timestamptz NOT NULL,
  -- When the server last used it.
  used_at timestamptz
);
CREATE INDEX name_server_keys_server ON name_server_keys (name_server);

-- Each serial of the beacon that was issued.
CREATE TABLE zone_beacons (
  serial bigint PRIMARY KEY CHECK (serial BETWEEN 0 AND 4294967295),
  at timestamptz NOT NULL
);
CREATE INDEX zone_beacons_age ON zone_beacons (at);
