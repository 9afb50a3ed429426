-- expand
-- Used nonces of several api processes (src/api/replay/database-nonces.ts). The second at which a request was signed chooses the part,
-- and a part serves one range of seconds at a time, so it is emptied as a whole.

-- Where nonces are kept now, and the time up to which signed requests are refused after a change of that.
CREATE TABLE nonce_store (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  kept_in text NOT NULL CHECK (kept_in IN ('journal', 'database')),
  horizon_seconds bigint NOT NULL
);
INSERT INTO nonce_store (kept_in, horizon_seconds) VALUES ('journal', 0);

-- Which range of seconds each part has: the seconds divided by the range's length. It only rises.
CREATE TABLE nonce_parts (
  part integer PRIMARY KEY,
  range bigint NOT NULL
);
INSERT INTO nonce_parts (part, range) SELECT part, part FROM generate_series(0, 7) AS part;

CREATE TABLE used_nonces (
  -- The first 16 bytes of the SHA-256 of key and nonce.
  digest bytea NOT NULL,
  part integer NOT NULL,
  signed_at bigint NOT NULL,
  CONSTRAINT used_nonces_pkey PRIMARY KEY (digest, part)
) PARTITION BY LIST (part);
CREATE TABLE used_nonces_0 PARTITION OF used_nonces FOR VALUES IN (0);
CREATE TABLE used_nonces_1 PARTITION OF used_nonces FOR VALUES IN (1);
CREATE TABLE used_nonces_2 PARTITION OF used_nonces FOR VALUES IN (2);
CREATE TABLE used_nonces_3 PARTITION OF used_nonces FOR VALUES IN (3);
CREATE TABLE used_nonces_4 PARTITION OF used_nonces FOR VALUES IN (4);
CREATE TABLE used_nonces_5 PARTITION OF used_nonces FOR VALUES IN (5);
CREATE TABLE used_nonces_6 PARTITION OF used_nonces FOR VALUES IN (6);
CREATE TABLE used_nonces_7 PARTITION OF used_nonces FOR VALUES IN (7);

CREATE TRIGGER committed_requests_use_nonces AFTER INSERT ON committed_requests
  FOR EACH ROW EXECUTE FUNCTION use_nonce();
