-- What the agents of hosting nodes ask for, and what they say: a node keeps no database, so all of it is here.

-- The gateway as its nodes know it: one row.
CREATE TABLE node_gateway (
  id integer PRIMARY KEY CHECK (id = 1),
  -- Ed25519; signs every node's desired state.
  public_key text NOT NULL,
  private_key_sealed bytea NOT NULL,
  -- Where nodes find it, and what its certificate must show; null until a door has been open.
  door_url text,
  door_pin text
);

-- One per node that has an agent. Whoever gives out a version holds this row's lock until his commit: so versions become
-- visible in their order, and a reader that has seen one has seen all below it.
CREATE TABLE node_channels (
  node_id text PRIMARY KEY REFERENCES hosting_nodes (id) ON DELETE CASCADE,
  -- Ed25519, made on the node; null until a machine has joined.
  public_key text,
  join_secret_hash bytea UNIQUE,
  join_until timestamptz,
  join_used_at timestamptz,
  joined_at timestamptz,
  last_seen_at timestamptz,
  agent_version text,
  -- Of the last request on each path; a request with no higher one is a repetition.
  sync_counter bigint NOT NULL DEFAULT 0,
  report_counter bigint NOT NULL DEFAULT 0,
  -- The newest version of an account or a question.
  head bigint NOT NULL DEFAULT 0,
  -- No document with a higher one has been signed. A node that has applied more has it from a database that was lost.
  issued_version bigint NOT NULL DEFAULT 0,
  -- Up to which the node holds everything; what it refused of it was taken back.
  applied_version bigint NOT NULL DEFAULT -1,
  -- What the node knows beyond what this database has issued: it gets nothing until an operator has decided.
  ahead_version bigint,
  usage_version bigint NOT NULL DEFAULT 1,
  -- Requests in this node's name that were refused.
  refused_count bigint NOT NULL DEFAULT 0,
  refused_at timestamptz,
  refused_reason text
);

-- What each account of a node shall be there.
CREATE TABLE node_states (
  node_id text NOT NULL REFERENCES node_channels (node_id) ON DELETE CASCADE,
  uid bigint NOT NULL,
  identifier text NOT NULL,
  version bigint NOT NULL,
  -- Without the hash; null: the account shall be gone, and its uid is never used again.
  state jsonb,
  password_hash_sealed bytea,
  -- What the node held before the change that it has not acknowledged; it comes back if the node refuses the change.
  held_version bigint,
  held_state jsonb,
  held_hash_sealed bytea,
  -- As the node reported it.
  used_bytes bigint NOT NULL DEFAULT 0,
  used_files bigint NOT NULL DEFAULT 0,
  traffic_month text,
  traffic_bytes bigint,
  usage_version bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (node_id, uid)
);
CREATE UNIQUE INDEX node_states_identifier ON node_states (node_id, identifier) WHERE state IS NOT NULL;
CREATE INDEX node_states_version ON node_states (node_id, version);
CREATE INDEX node_states_usage ON node_states (node_id, usage_version) WHERE state IS NOT NULL;

-- Whose a host name is on its node: the account's that was given it last.
CREATE TABLE node_host_names (
  node_id text NOT NULL,
  host_name text NOT NULL,
  uid bigint NOT NULL,
  PRIMARY KEY (node_id, host_name),
  FOREIGN KEY (node_id, uid) REFERENCES node_states (node_id, uid) ON DELETE CASCADE
);
CREATE INDEX node_host_names_uid ON node_host_names (node_id, uid);

-- Changes that a node will never take on, kept for a day for those who wait for them.
CREATE TABLE node_refusals (
  node_id text NOT NULL REFERENCES node_channels (node_id) ON DELETE CASCADE,
  uid bigint NOT NULL,
  -- All changes of this account above `after_version`, up to `version`, were refused together.
  after_version bigint NOT NULL,
  version bigint NOT NULL,
  identifier text NOT NULL,
  reason text NOT NULL,
  refused_at timestamptz NOT NULL,
  PRIMARY KEY (node_id, uid, version)
);

-- What the gateway wants to know of a node, for a minute at most.
CREATE TABLE node_questions (
  id uuid PRIMARY KEY,
  node_id text NOT NULL REFERENCES node_channels (node_id) ON DELETE CASCADE,
  version bigint NOT NULL,
  method text NOT NULL,
  identifier text NOT NULL,
  uid bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX node_questions_version ON node_questions (node_id, version);

CREATE TABLE node_answer_parts (
  question_id uuid NOT NULL REFERENCES node_questions (id) ON DELETE CASCADE,
  part integer NOT NULL,
  parts integer NOT NULL,
  -- A one-time login can be in it.
  text_sealed bytea NOT NULL,
  PRIMARY KEY (question_id, part)
);
