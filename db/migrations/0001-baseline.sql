-- expand
-- The schema of 0.1.0, the first version. Functions are in db/functions. db/README.md says how the schema is kept.
--
-- Names and identifiers are COLLATE "C": the lists are promised in byte order (and byte comparison is the quickest).


-- Resellers: accounts, profiles, keys, and the answers to their requests.

CREATE TABLE resellers (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  kind text NOT NULL CHECK (kind IN ('reseller', 'plain')),
  rate_limit integer NOT NULL CHECK (rate_limit > 0),
  hosting_accounts_max integer NOT NULL,
  hosting_bytes_max bigint NOT NULL,
  created_at timestamptz NOT NULL,
  -- Until accounts have balances: how many orders that cost money an account may place in a UTC day.
  paid_orders_day_max integer NOT NULL DEFAULT 1000 CHECK (paid_orders_day_max >= 0)
);
CREATE TRIGGER reseller_keys_changed AFTER UPDATE ON resellers
  FOR EACH ROW EXECUTE FUNCTION notify_reseller_keys_changed();
CREATE TRIGGER reseller_paid_orders AFTER INSERT ON resellers FOR EACH ROW EXECUTE FUNCTION begin_paid_orders();

-- Who a reseller's names are registered for. A row is a complete profile: what may be missing is nullable.
CREATE TABLE reseller_profiles (
  reseller_id bigint PRIMARY KEY REFERENCES resellers,
  full_name text NOT NULL,
  organisation text,
  email text NOT NULL,
  phone text NOT NULL,
  street text NOT NULL,
  city text NOT NULL,
  state_or_province text,
  postal_code text NOT NULL,
  country_code text NOT NULL CHECK (country_code ~ '^[A-Z]{2}$'),
  updated_at timestamptz NOT NULL
);

CREATE TABLE api_keys (
  id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{32}$'),
  reseller_id bigint NOT NULL REFERENCES resellers,
  label text NOT NULL,
  secret_sealed bytea NOT NULL,
  scopes text[] NOT NULL,
  allowed_addresses text[] NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX api_keys_reseller ON api_keys (reseller_id);
CREATE TRIGGER api_key_changed AFTER UPDATE OR DELETE ON api_keys FOR EACH ROW EXECUTE FUNCTION notify_api_key_changed();

-- A row has the count of one day, an account's latest, so the table has one row for each account.
CREATE TABLE paid_orders (
  reseller_id bigint PRIMARY KEY REFERENCES resellers,
  day date NOT NULL,
  placed integer NOT NULL
) WITH (fillfactor = 50);

-- The answers of committed writes, by the nonce that asked: an identical resend gets the same answer.
CREATE TABLE committed_requests (
  key_id text NOT NULL,
  nonce text NOT NULL,
  signed_at bigint NOT NULL,
  request_digest bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (key_id, nonce)
);
CREATE INDEX committed_requests_signed_at ON committed_requests (signed_at);

-- The answers of requests that carried an Idempotency-Key.
CREATE TABLE idempotent_requests (
  reseller_id bigint NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  idempotency_key text NOT NULL,
  body_mac bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (reseller_id, method, path, idempotency_key)
);
CREATE INDEX idempotent_requests_created_at ON idempotent_requests (created_at);

-- Says that an api has answered requests of this database: a missing journal of nonces then means that it was lost.
CREATE TABLE replay_journals (
  started_at timestamptz NOT NULL
);


-- Workers: which are running, what they do regularly, and what needs an operator.

-- When each worker last said that it is running, by the database's clock: api and operator notice when none is.
CREATE TABLE workers (
  -- "process 4711 on host", as its connection of locks is named.
  worker text PRIMARY KEY,
  seen_at timestamptz NOT NULL,
  -- Set by a worker that ends as it should.
  stopped_at timestamptz,
  -- What it was doing then.
  doing text
);

CREATE TABLE chores (
  name text PRIMARY KEY,
  next_step_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  -- How many times in a row it has failed.
  failures integer NOT NULL DEFAULT 0
);
CREATE TRIGGER count_version BEFORE UPDATE ON chores FOR EACH ROW EXECUTE FUNCTION count_version();
-- At the next 3:23 UTC. Workers add those of every minute (src/jobs/chores.ts).
INSERT INTO chores (name, next_step_at) VALUES
  ('reconciles', date_trunc('day', now(), 'UTC') + CASE
    WHEN now() < date_trunc('day', now(), 'UTC') + interval '3 h 23 min' THEN interval '3 h 23 min'
    ELSE interval '1 day 3 h 23 min' END);

-- What needs an operator. One row for each time that it begins; it is open until it is resolved.
CREATE TABLE alarms (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  subject text NOT NULL,
  note text NOT NULL,
  since timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  count integer NOT NULL,
  resolved_at timestamptz
);
-- One that is raised again while it is open is the same one.
CREATE UNIQUE INDEX alarms_open ON alarms (kind, subject) WHERE resolved_at IS NULL;
CREATE INDEX alarms_open_newest ON alarms (id) WHERE resolved_at IS NULL;
CREATE INDEX alarms_subject ON alarms (kind, subject, resolved_at);


-- Registries: their state, who owns their sessions, their messages, and questions to the owner.

-- What a registry's session holder reports about it to all other processes.
CREATE TABLE registries (
  id text PRIMARY KEY,
  circuit_open_until timestamptz,
  creates_paused_reason text,
  updated_at timestamptz NOT NULL,
  -- Announced by the registry, entered by the operator: until it ends nothing is sent, and nothing counts as a failure.
  maintenance_from timestamptz,
  maintenance_until timestamptz,
  -- Of the last probe that an operator asked for: who asked, and what it failed with; null when the circuit is closed.
  probe_id text,
  probe_failure text,
  -- Since when checks have failed: kept here, so that a worker's restart does not reset the time tolerated.
  away_since timestamptz,
  CHECK (maintenance_from < maintenance_until)
);

-- Who owns a registry's sessions: a lease by this database's time, which ends although its holder hangs
-- (docs/decisions/0007-ownership-is-a-lease.md). The holder renews its row every few seconds: room for updates in place.
CREATE TABLE registry_leases (
  registry_id text PRIMARY KEY,
  -- Counts the owners. An attempt carries its owner's epoch, and none is committed under an epoch that is over.
  epoch bigint NOT NULL,
  -- The process, for people.
  holder text NOT NULL,
  since timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The connection that holds the owner's advisory lock.
  lock_pid integer NOT NULL,
  lock_started_at timestamptz NOT NULL,
  -- An owner that had lost its link to the registry let go then; the worker whose connection has this pid is next.
  yielded_at timestamptz,
  yielded_to integer
) WITH (fillfactor = 50);

-- Operators' processes have no session at a registry: they ask its owner, which answers in the question's row.
CREATE TABLE name_questions (
  id text PRIMARY KEY,
  -- Null: the registry that serves the name's suffix.
  registry_id text,
  domain_name text COLLATE "C" NOT NULL,
  -- Whether the domain's row takes over what the registry shows.
  takes_over boolean NOT NULL,
  -- One of many: it waits for idle sessions.
  is_paced boolean NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now(),
  answer jsonb
);
CREATE INDEX name_questions_open ON name_questions (asked_at) WHERE answer IS NULL;
CREATE INDEX name_questions_age ON name_questions (asked_at);

-- Names that cannot be registered through the API: a whole name, or a bare label (blocked under every suffix).
CREATE TABLE blocked_names (
  name text COLLATE "C" PRIMARY KEY,
  reason text NOT NULL,
  created_at timestamptz NOT NULL
);


-- The schedule of renewals, orders, and the commands that they send.

-- Renewals: for each name, one row per term that comes to its end, from some weeks before it is due until the name is
-- renewed or has left the portfolio. The row is there whether the name is to be renewed or not: not renewing is work too,
-- where the registry renews by itself.
CREATE TABLE renewals (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  renewal_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  domain_name text COLLATE "C" NOT NULL,
  registry_id text NOT NULL,
  period_years integer NOT NULL,
  -- The name's expiration_date when the row was made.
  term_ends_at timestamptz NOT NULL,
  due_at timestamptz NOT NULL,
  renewed_until timestamptz,
  status text NOT NULL CHECK (status IN ('Scheduled', 'Processing', 'Attention', 'Lapsing', 'Renewed', 'Ended')),
  phase text CHECK (phase IN ('renew', 'wait', 'delete')),
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz NOT NULL,
  -- When the next alarm says that the renewal is not proven yet.
  alarm_at timestamptz,
  reason text,
  -- Its place in the reseller's list: the end of the term, then the name.
  list_key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((status IN ('Processing', 'Lapsing')) = (phase IS NOT NULL)),
  CHECK ((status IN ('Renewed', 'Ended')) = (ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX renewals_live_name ON renewals (domain_name) WHERE ended_at IS NULL;
CREATE INDEX renewals_name ON renewals (domain_name, id);
CREATE INDEX renewals_step ON renewals (registry_id, next_step_at) WHERE ended_at IS NULL;
-- What these two hold is a small part of the table.
CREATE INDEX renewals_step_begun ON renewals (registry_id, next_step_at)
  WHERE ended_at IS NULL AND NOT (status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait');
CREATE INDEX renewals_begun ON renewals (reseller_id, created_at, renewal_code) INCLUDE (status, phase)
  WHERE status IN ('Processing', 'Attention', 'Lapsing');
CREATE INDEX renewals_alarm ON renewals (registry_id, alarm_at) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX renewals_list ON renewals (reseller_id, list_key);
CREATE INDEX renewals_list_status ON renewals (reseller_id, status, list_key);
CREATE INDEX renewals_ended ON renewals (reseller_id, status, created_at, renewal_code) WHERE ended_at IS NOT NULL;
CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON renewals FOR EACH ROW EXECUTE FUNCTION live_row();
CREATE TRIGGER list_inserted AFTER INSERT ON renewals REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();
CREATE TRIGGER list_updated AFTER UPDATE ON renewals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();
CREATE TRIGGER list_deleted AFTER DELETE ON renewals REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed();

CREATE TABLE renewal_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  renewal_id bigint NOT NULL REFERENCES renewals,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  phase text,
  note text
);
CREATE INDEX renewal_history_renewal ON renewal_history (renewal_id, id);
CREATE TRIGGER told AFTER INSERT ON renewal_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewal_history_told();

-- Orders: registrations, and changes of registered names. One machine carries all of them (docs/decisions/0010-one-machine-for-changes-at-a-registry.md).
CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  domain_name text COLLATE "C" NOT NULL,
  -- Of a registration: how long registrations take is known by suffix.
  suffix text,
  registry_id text NOT NULL,
  kind text NOT NULL,
  -- What was ordered, and what its steps found that later ones need.
  input jsonb NOT NULL,
  found jsonb NOT NULL DEFAULT '{}',
  -- What must not be read in the database; erased at the end.
  secret_sealed bytea,
  -- Goes before orders that only set a value.
  is_urgent boolean NOT NULL,
  -- Which term an order of the schedule is for (docs/decisions/0019-the-schedule-places-orders.md); null for what a customer ordered.
  renewal_id bigint REFERENCES renewals,
  -- Orders of different lanes do not wait for each other, except for those of the same name.
  lane text NOT NULL GENERATED ALWAYS AS (CASE WHEN kind = 'create' THEN 'registration' WHEN renewal_id IS NOT NULL THEN 'schedule'
    WHEN is_urgent THEN 'urgent' ELSE 'value' END) STORED,
  status text NOT NULL CHECK (status IN
    ('NotProvisioned', 'Processing', 'Pending', 'Errors', 'Finished', 'FailedValidation', 'Cancelled')),
  phase text CHECK (phase IN ('send', 'verify')),
  verify_cause text CHECK (verify_cause IN ('answered', 'lost')),
  -- What a lookup shows after a lost answer counts only when a second one at or after this time agrees (RFC 5734 §3).
  confirm_after timestamptz,
  backoff_count integer NOT NULL DEFAULT 0,
  disputes integer NOT NULL DEFAULT 0,
  -- Since when every attempt has failed.
  waiting_since timestamptz,
  next_step_at timestamptz,
  reason text,
  operator_note text,
  -- Since when the operator wants a registration cancelled, although it may have been sent.
  cancel_requested_at timestamptz,
  -- How the operator says that it ended; the order's next step compares that with the registry, and empties these.
  settle_as text CHECK (settle_as IN ('done', 'failed', 'failed-forced')),
  settle_note text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  ended_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((status = 'Processing') = (phase IS NOT NULL)),
  CHECK (coalesce(phase = 'verify', false) = (verify_cause IS NOT NULL)),
  CHECK ((status IN ('Errors', 'Finished', 'FailedValidation', 'Cancelled')) = (ended_at IS NOT NULL)),
  CHECK ((kind = 'create') = (suffix IS NOT NULL))
);
-- The index that decides races: one open registration per name in the whole service.
CREATE UNIQUE INDEX orders_live_create ON orders (domain_name) WHERE kind = 'create' AND ended_at IS NULL;
-- A name's term is paid for once, no matter who asks.
CREATE UNIQUE INDEX orders_live_paid ON orders (domain_name) WHERE ended_at IS NULL AND kind IN ('renew', 'restore');
CREATE UNIQUE INDEX orders_live_renewal ON orders (renewal_id) WHERE renewal_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX orders_renewal ON orders (renewal_id, id) WHERE renewal_id IS NOT NULL;
CREATE INDEX orders_step ON orders (registry_id, lane, next_step_at) WHERE ended_at IS NULL;
-- Orders that only set a value: resellers take turns.
CREATE INDEX orders_turn ON orders (registry_id, reseller_id, next_step_at) WHERE ended_at IS NULL AND lane = 'value';
CREATE INDEX orders_live_name ON orders (domain_name, id) WHERE ended_at IS NULL AND kind <> 'create';
CREATE INDEX orders_live_reseller ON orders (reseller_id) WHERE ended_at IS NULL AND kind <> 'create';
CREATE INDEX orders_name ON orders (domain_name, id);
-- A page takes the newest orders of each kind and status, so that a rare one is found as soon as a common one.
CREATE INDEX orders_list ON orders (reseller_id, kind, status, created_at, order_code);
CREATE INDEX orders_ended ON orders (registry_id, ended_at) WHERE ended_at IS NOT NULL;
-- How long an order usually takes that a customer waits for.
CREATE INDEX orders_finished_suffix ON orders (suffix, ended_at DESC) WHERE status = 'Finished' AND kind = 'create';
CREATE INDEX orders_finished_kind ON orders (kind, ended_at DESC) WHERE status = 'Finished' AND renewal_id IS NULL AND kind <> 'create';
CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION live_row();
-- Whichever statement ends an order, it erases its secret.
CREATE TRIGGER secret_erased BEFORE INSERT OR UPDATE ON orders FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL AND NEW.secret_sealed IS NOT NULL) EXECUTE FUNCTION erase_secret();
CREATE TRIGGER order_ended AFTER UPDATE ON orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION orders_ended();
-- A new order has not ended; for it, a trigger of each statement would cost more than its insert. Rows that are copied here from
-- elsewhere may have.
CREATE TRIGGER ended_order_copied AFTER INSERT ON orders FOR EACH ROW WHEN (NEW.ended_at IS NOT NULL)
  EXECUTE FUNCTION ended_order_copied();

-- An order's history is read by its order: one index that says both is enough. Its rows come from statements that read the
-- order's own row, and orders are never deleted, so a foreign key only asks again what is known: four times for each order.
CREATE TABLE order_history (
  id bigint GENERATED ALWAYS AS IDENTITY,
  order_id bigint NOT NULL,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  phase text,
  note text,
  PRIMARY KEY (order_id, id)
);

-- Every EPP command that changes the registry, committed before its bytes are written. No answer = possibly sent. An attempt is
-- written when it begins and changed once, when it is answered: on its own page, without new index entries.
CREATE TABLE attempts (
  cl_trid text PRIMARY KEY,
  order_id bigint NOT NULL REFERENCES orders,
  number integer NOT NULL,
  command text NOT NULL,
  committed_at timestamptz NOT NULL,
  answered_at timestamptz,
  result_code integer,
  sv_trid text,
  epoch bigint,
  -- A contact whose answer was lost has an unknown id, if the registry chose it.
  abandoned_at timestamptz,
  UNIQUE (order_id, number)
) WITH (fillfactor = 70);
CREATE INDEX attempts_abandoned ON attempts (abandoned_at) WHERE abandoned_at IS NOT NULL;

-- How many orders have ended, by kind and status; those in progress are few, and counted by the indexes of their tables. An order
-- ends once, and is never deleted. A count is spread over several rows: a transaction adds to one that no other is changing, or
-- makes another, so none waits for another, and no order of their changes can lock them against each other.
CREATE TABLE order_counts (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  reseller_id bigint NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  row_count bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX order_counts_list ON order_counts (reseller_id, kind, status);

-- What registries have reported in their message queues.
CREATE TABLE poll_messages (
  registry_id text NOT NULL,
  message_id text NOT NULL,
  received_at timestamptz NOT NULL,
  order_id bigint REFERENCES orders,
  needs_operator boolean NOT NULL,
  payload text NOT NULL,
  done_at timestamptz,
  done_note text,
  -- What kind of message it is, what became of it ('applied', 'told', 'kept'), the name that it is about, and its text.
  kind text,
  outcome text,
  domain_name text COLLATE "C",
  message_text text,
  PRIMARY KEY (registry_id, message_id)
);
CREATE INDEX poll_messages_open ON poll_messages (registry_id, received_at) WHERE needs_operator AND done_at IS NULL;
CREATE INDEX poll_messages_waiting ON poll_messages (received_at, registry_id, message_id)
  WHERE needs_operator AND done_at IS NULL;
-- Lists begin at any message, and what is old enough is deleted.
CREATE INDEX poll_messages_received ON poll_messages (received_at, registry_id, message_id);


-- The portfolio: names, those that have left, and their auth codes.

-- A row is read after all while no vacuum has seen its page since the last change there, and that costs many times as much as its
-- entry in the index domains_portfolio. With PostgreSQL's default, a fifth of all rows would have to change first.
CREATE TABLE domains (
  domain_name text COLLATE "C" PRIMARY KEY,
  reseller_id bigint NOT NULL REFERENCES resellers,
  order_id bigint UNIQUE REFERENCES orders,
  registry_id text NOT NULL,
  registration_date timestamptz NOT NULL,
  expiration_date timestamptz NOT NULL,
  registry_ex_date timestamptz NOT NULL,
  will_renew boolean NOT NULL,
  status text NOT NULL,
  name_servers text[] NOT NULL DEFAULT '{}',
  -- The renewal of the present term, once there is one.
  renewal_id bigint UNIQUE REFERENCES renewals,
  -- What the registry last showed of the name.
  statuses text[] NOT NULL DEFAULT '{}',
  delegation jsonb NOT NULL DEFAULT '[]',
  handles jsonb,
  dnssec jsonb,
  shown_at timestamptz,
  -- The transfer that another registrar has asked for, as resellers see it.
  transfer jsonb,
  -- When the registry first showed that the name is not ours any more; and when the registry's session holder checks the name
  -- again.
  gone_since timestamptz,
  look_at timestamptz,
  -- When the row was last compared with the registry. A new name's row is what the registry has just shown.
  looked_at timestamptz DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0.002, autovacuum_vacuum_insert_scale_factor = 0.002);
-- The filters of a portfolio are decided by this index alone: counting and choosing the names of a page reads no rows.
CREATE UNIQUE INDEX domains_portfolio ON domains (reseller_id, domain_name) INCLUDE (expiration_date, will_renew);
-- Names without a renewal are found at no cost to the others. The sweep reads on from the last name that it has handled: many names
-- may end at one time.
CREATE INDEX domains_unscheduled ON domains (registry_id, expiration_date, domain_name) WHERE renewal_id IS NULL;
CREATE INDEX domains_look ON domains (registry_id, look_at) WHERE look_at IS NOT NULL;
CREATE INDEX domains_gone ON domains (registry_id, gone_since) WHERE gone_since IS NOT NULL;
CREATE INDEX domains_looked_at ON domains (registry_id, looked_at NULLS FIRST);
CREATE INDEX domains_transfer ON domains (domain_name) WHERE transfer IS NOT NULL;
-- Whether a name uses a contact, or a name server.
CREATE INDEX domains_handles ON domains USING gin (handles jsonb_path_ops);
CREATE INDEX domains_delegation ON domains USING gin (delegation jsonb_path_ops);
CREATE TRIGGER list_inserted AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_new_domains();
CREATE TRIGGER list_updated AFTER UPDATE ON domains REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true');
CREATE TRIGGER list_deleted AFTER DELETE ON domains REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true');
-- Names are registered several at a time, and what follows from that is done once for all of them: in the order pipeline each
-- domain's share of a row's triggers was some 120 us of PostgreSQL's time, a tenth of all that an order costs it.
CREATE TRIGGER host_names_of_new_domains AFTER INSERT ON domains REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION host_names_of_new_domains();
CREATE TRIGGER host_names_of_domain AFTER DELETE OR UPDATE OF domain_name, reseller_id ON domains
  FOR EACH ROW EXECUTE FUNCTION host_names_of_domain();
CREATE TRIGGER transfer_told AFTER UPDATE OF transfer ON domains FOR EACH ROW
  WHEN (OLD.transfer IS DISTINCT FROM NEW.transfer
    AND (NEW.transfer ->> 'status' = 'pending' OR NEW.transfer IS NULL AND OLD.transfer ->> 'status' = 'pending'))
  EXECUTE FUNCTION transfer_told();

-- What happened to a name in its portfolio; goes on after the name has left it. The events are a list in the code, which grows with
-- each release.
CREATE TABLE domain_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  domain_name text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  at timestamptz NOT NULL,
  event text NOT NULL,
  note text
);
CREATE INDEX domain_history_name ON domain_history (domain_name, id);
CREATE TRIGGER told AFTER INSERT ON domain_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION domain_history_told();

-- Names that have left their portfolio, as they were.
CREATE TABLE domains_ended (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  domain_name text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  order_id bigint REFERENCES orders,
  -- A name can leave years before its next renewal.
  renewal_id bigint REFERENCES renewals,
  registry_id text NOT NULL,
  registration_date timestamptz NOT NULL,
  expiration_date timestamptz NOT NULL,
  registry_ex_date timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  reason text,
  gaining_registrar text,
  -- A name that was deleted can be restored for some time.
  restorable_until timestamptz,
  -- Its place in the reseller's list, which shows the newest departure first.
  list_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
    lpad((253402300799999 - (extract(epoch FROM ended_at - timestamptz '1970-01-01 00:00:00+00') * 1000)::int8)::text, 15, '0')
      || ' ' || domain_name || ' ' || id::text) STORED,
  -- A name that left comes back with the setting that it had.
  will_renew boolean NOT NULL DEFAULT true,
  -- The registry still counts the contacts of a name that can be restored.
  handles jsonb
);
CREATE INDEX domains_ended_name ON domains_ended (domain_name, id);
CREATE UNIQUE INDEX domains_ended_list ON domains_ended (reseller_id, list_key);
CREATE INDEX domains_ended_transferred ON domains_ended (id) WHERE reason = 'transferred';
CREATE INDEX domains_ended_handles ON domains_ended USING gin (handles jsonb_path_ops) WHERE restorable_until IS NOT NULL;
CREATE TRIGGER list_inserted AFTER INSERT ON domains_ended REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
CREATE TRIGGER list_updated AFTER UPDATE ON domains_ended REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
CREATE TRIGGER list_deleted AFTER DELETE ON domains_ended REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true');
CREATE TRIGGER told AFTER INSERT ON domains_ended REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION departures_told();

-- The auth code that the registry has for a name, from the order that set it until it is replaced there.
CREATE TABLE auth_codes (
  domain_name text COLLATE "C" PRIMARY KEY REFERENCES domains ON DELETE CASCADE,
  registry_id text NOT NULL,
  order_code text NOT NULL,
  -- Null once it has expired.
  code_sealed bytea,
  expires_at timestamptz NOT NULL,
  -- When an order to replace it is placed, or placed again.
  replace_at timestamptz NOT NULL
);
CREATE INDEX auth_codes_replace ON auth_codes (registry_id, replace_at);

-- What the registry last showed of a name's authInfo, as a MAC: it reveals a code that a restored database does not know. There
-- is no row until the first `<info>` after an order has set another code.
CREATE TABLE seen_auth_codes (
  domain_name text COLLATE "C" PRIMARY KEY REFERENCES domains ON DELETE CASCADE,
  mac bytea NOT NULL
);


-- Contacts: what resellers say about people, and the objects of it at registries.

-- Sealed, and found by a digest that cannot be computed without the master key. What is known of people is erased some time
-- after the last name that used it left.
CREATE TABLE contacts (
  reseller_id bigint NOT NULL REFERENCES resellers,
  digest text NOT NULL,
  data_sealed bytea NOT NULL,
  created_at timestamptz NOT NULL,
  look_at timestamptz,
  unused_since timestamptz,
  PRIMARY KEY (reseller_id, digest)
);
CREATE INDEX contacts_look ON contacts (look_at NULLS FIRST);

-- Contacts that a registry is known to hold for us. Some registries choose their ids: the id is stored with a digest of the
-- data that it stands for. Contact objects that nothing uses are deleted at their registry. A row is checked when `look_at` has
-- come (null: at once). While it has `delete_cl_trid`, a delete may be on its way: no order may use the object. `delete_epoch`
-- is the session holder that began it.
CREATE TABLE registry_contacts (
  registry_id text NOT NULL,
  contact_id text NOT NULL,
  created_at timestamptz NOT NULL,
  reseller_id bigint REFERENCES resellers,
  data_digest text,
  look_at timestamptz,
  unused_since timestamptz,
  delete_cl_trid text,
  delete_epoch bigint,
  -- Where a contact has one role only, equal data is an object for each role; '' is any role.
  role text NOT NULL DEFAULT '',
  PRIMARY KEY (registry_id, contact_id),
  CHECK ((delete_cl_trid IS NULL) = (delete_epoch IS NULL))
);
CREATE UNIQUE INDEX registry_contacts_data ON registry_contacts (registry_id, reseller_id, data_digest, role);
CREATE INDEX registry_contacts_digest ON registry_contacts (reseller_id, data_digest);
CREATE INDEX registry_contacts_look ON registry_contacts (registry_id, look_at NULLS FIRST);
CREATE INDEX registry_contacts_marked ON registry_contacts (registry_id, look_at) WHERE delete_cl_trid IS NOT NULL;


-- Hosting: service packs, nodes, accounts, moves and host names.

CREATE SEQUENCE service_pack_id START 14490;
-- A pack that is revised gets a next version under the same id; accounts keep the version that they were bought with.
CREATE TABLE service_packs (
  id bigint DEFAULT nextval('service_pack_id'),
  name text NOT NULL,
  disk_quota_bytes bigint NOT NULL CHECK (disk_quota_bytes > 0),
  files_max integer NOT NULL CHECK (files_max > 0),
  ftp_sessions_max integer NOT NULL CHECK (ftp_sessions_max > 0),
  offered_to bigint[],
  retired_at timestamptz,
  created_at timestamptz NOT NULL,
  version integer NOT NULL DEFAULT 1 CHECK (version > 0),
  -- What a site may send in a calendar month (UTC); 0: as much as it likes.
  traffic_bytes_month bigint NOT NULL DEFAULT 0 CHECK (traffic_bytes_month >= 0),
  -- In addition to the platform's name.
  host_names_max integer NOT NULL DEFAULT 10 CHECK (host_names_max >= 0),
  -- Without `ftp`, login is impossible; the others are for the reseller to read.
  features text[] NOT NULL DEFAULT '{ftp}',
  -- Only a node that has all of them takes an account of this pack.
  node_tags text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (id, version)
);
-- Of a pack's versions, one at the most is on offer.
CREATE UNIQUE INDEX service_packs_on_offer ON service_packs (id) WHERE retired_at IS NULL;

-- Hosting nodes are rows, so that one can be added, drained or taken away while everything runs. How a database that was restored from
-- a backup is noticed: a node has applied a higher version than we have issued (node_channels), or has a higher uid than we have given
-- out. From then on nothing is removed there until an operator has decided.
CREATE TABLE hosting_nodes (
  id text PRIMARY KEY CHECK (id ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'),
  kind text NOT NULL CHECK (kind IN ('embedded', 'proftpd-nginx', 'cpanel')),
  -- Where customers find it.
  ftp_host text NOT NULL,
  ftp_port integer NOT NULL CHECK (ftp_port BETWEEN 1 AND 65535),
  web_host text NOT NULL,
  web_port integer NOT NULL CHECK (web_port BETWEEN 1 AND 65535),
  web_is_https boolean NOT NULL DEFAULT false,
  -- What its driver must know to reach it: JSON, sealed.
  settings_sealed bytea,
  capacity_bytes bigint NOT NULL CHECK (capacity_bytes >= 0),
  accounts_max integer NOT NULL CHECK (accounts_max >= 0),
  -- Of the accounts that are placed on it, kept by the transactions that place and remove them.
  committed_bytes bigint NOT NULL DEFAULT 0 CHECK (committed_bytes >= 0),
  accounts_count integer NOT NULL DEFAULT 0 CHECK (accounts_count >= 0),
  tags text[] NOT NULL DEFAULT '{}',
  is_draining boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  -- A node is known to be there when it answers.
  last_seen_at timestamptz,
  -- Since when checks have failed: kept here, so that a worker's restart does not reset the time tolerated.
  silent_since timestamptz,
  -- The highest uid that the node has reported.
  uid_highest bigint NOT NULL DEFAULT 0,
  restored_at timestamptz,
  -- Whether uids were skipped at this node's word since an operator has last gone on with it: a node is believed once.
  has_skipped_uids boolean NOT NULL DEFAULT false
);
-- Not for what placing changes.
CREATE TRIGGER hosting_node_changed
  AFTER INSERT OR DELETE OR UPDATE OF id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed, is_draining
  ON hosting_nodes FOR EACH ROW EXECUTE FUNCTION notify_hosting_node_changed();

-- The last comparison of what a node has with what it should have, and the next one that was requested.
CREATE TABLE hosting_reconciles (
  node_id text PRIMARY KEY REFERENCES hosting_nodes ON DELETE CASCADE,
  wanted_at timestamptz NOT NULL,
  repairs boolean NOT NULL,
  done_at timestamptz,
  -- How many there are of each kind, and the first of them.
  counts jsonb,
  findings jsonb,
  -- Why it could not be done.
  error_text text,
  -- Which strays are to be removed: [{"identifier", "uid"}].
  removes jsonb,
  version bigint NOT NULL DEFAULT 0,
  next_step_at timestamptz
);
CREATE INDEX hosting_reconciles_next_step ON hosting_reconciles (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE TRIGGER count_version BEFORE UPDATE ON hosting_reconciles FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON hosting_reconciles FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.wanted_at))
  EXECUTE FUNCTION row_is_due('hosting-reconciles');

-- Uids are never used twice, so that a trash folder named by one can never belong to another account.
CREATE SEQUENCE hosting_uid START 200000;
-- A hosting account's row is its desired state; a step brings its node to that, and records up to which version it has. An account
-- that failed or was removed stays, for its history and so that its uid never returns; it is not listed, not counted, and its
-- identifier is free.
CREATE TABLE hosting_accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  identifier text COLLATE "C" NOT NULL,
  reseller_id bigint NOT NULL REFERENCES resellers,
  servicepack_id bigint NOT NULL,
  uid bigint NOT NULL UNIQUE DEFAULT nextval('hosting_uid'),
  -- Without a password (an empty hash), login is impossible until one is set.
  password_hash_sealed bytea NOT NULL,
  disk_quota_bytes bigint NOT NULL,
  files_max integer NOT NULL,
  ftp_sessions_max integer NOT NULL,
  disk_used_bytes bigint NOT NULL DEFAULT 0,
  status text NOT NULL CHECK (status IN ('Provisioning', 'Ready', 'Suspended', 'Failed', 'Removed')),
  node_id text,
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz,
  operator_note text,
  error_text text,
  created_at timestamptz NOT NULL,
  ready_at timestamptz,
  updated_at timestamptz NOT NULL,
  servicepack_version integer NOT NULL DEFAULT 1,
  files_used integer NOT NULL DEFAULT 0,
  -- Counts the changes of the desired state, and how many of them the node has applied.
  wanted_version bigint NOT NULL DEFAULT 1,
  applied_version bigint NOT NULL DEFAULT 0,
  -- Since when the node does not have the desired state.
  wanted_at timestamptz NOT NULL DEFAULT now(),
  -- It is to be suspended, and why; for the operator alone.
  suspended_at timestamptz,
  suspended_reason text,
  -- It is to be removed.
  removal_requested_at timestamptz,
  -- Of an account whose move ends soon: FTP logins are refused, so that the files stay as they were copied.
  is_frozen boolean NOT NULL DEFAULT false,
  -- Until its uid is compared with what the nodes have: no node gets it before.
  must_check_uid boolean NOT NULL DEFAULT false,
  version bigint NOT NULL DEFAULT 0,
  -- Whether the account's owner has disabled FTP.
  ftp_is_off boolean NOT NULL DEFAULT false,
  -- The reseller's own suspension: it is served only while neither this one nor the operator's holds.
  reseller_suspended_at timestamptz,
  reseller_suspended_reason text,
  FOREIGN KEY (servicepack_id, servicepack_version) REFERENCES service_packs (id, version),
  CHECK ((suspended_at IS NULL) = (suspended_reason IS NULL)),
  CHECK (applied_version <= wanted_version),
  CHECK (reseller_suspended_reason IS NULL OR reseller_suspended_at IS NOT NULL)
);
CREATE UNIQUE INDEX hosting_accounts_identifier ON hosting_accounts (identifier) WHERE status NOT IN ('Failed', 'Removed');
CREATE UNIQUE INDEX hosting_accounts_portfolio ON hosting_accounts (reseller_id, identifier)
  WHERE status NOT IN ('Failed', 'Removed');
CREATE INDEX hosting_accounts_reseller ON hosting_accounts (reseller_id, identifier, id);
CREATE INDEX hosting_accounts_ready ON hosting_accounts (ready_at DESC) WHERE ready_at IS NOT NULL;
-- A node's accounts, in the order in which they are listed.
CREATE INDEX hosting_accounts_of_node ON hosting_accounts (node_id, id) WHERE status NOT IN ('Failed', 'Removed');
-- Accounts whose desired state is not applied yet.
CREATE INDEX hosting_accounts_unapplied ON hosting_accounts (id) WHERE applied_version < wanted_version;
CREATE INDEX hosting_accounts_next_step ON hosting_accounts (next_step_at) WHERE next_step_at IS NOT NULL;
-- Read backwards, all names under one stand together: from `<name>.` up to before `<name>/`, for "/" follows "." in bytes.
CREATE INDEX hosting_accounts_backwards ON hosting_accounts ((reverse(identifier)) COLLATE "C")
  WHERE status NOT IN ('Failed', 'Removed');
CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at, wanted_version ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION hosting_account_has_work();
-- What an account uses is a report, and takes precedence over nothing.
CREATE TRIGGER count_version BEFORE UPDATE OF status, node_id, uid, must_check_uid, error_text, wanted_version,
    applied_version, password_hash_sealed, suspended_at, reseller_suspended_at, removal_requested_at, is_frozen, ftp_is_off,
    backoff_count, next_step_at
    ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION count_version();
-- The clock that writes a time and this one need not agree: the row's own time of change is the former's.
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at, wanted_version ON hosting_accounts FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.updated_at))
  EXECUTE FUNCTION row_is_due('hosting-accounts');
CREATE TRIGGER hosting_move_look AFTER UPDATE OF applied_version, suspended_at, reseller_suspended_at, removal_requested_at
    ON hosting_accounts
  FOR EACH ROW WHEN (OLD.applied_version IS DISTINCT FROM NEW.applied_version
    OR OLD.suspended_at IS DISTINCT FROM NEW.suspended_at
    OR OLD.reseller_suspended_at IS DISTINCT FROM NEW.reseller_suspended_at
    OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at)
  EXECUTE FUNCTION hosting_move_look();
CREATE TRIGGER host_names_of_new_account AFTER INSERT ON hosting_accounts
  FOR EACH ROW EXECUTE FUNCTION host_names_of_new_account();
CREATE TRIGGER host_names_of_ended_account AFTER UPDATE OF status ON hosting_accounts
  FOR EACH ROW WHEN (NEW.status IN ('Failed', 'Removed')) EXECUTE FUNCTION host_names_of_ended_account();
CREATE TRIGGER list_inserted AFTER INSERT ON hosting_accounts REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');
CREATE TRIGGER list_updated AFTER UPDATE ON hosting_accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');
CREATE TRIGGER list_deleted AFTER DELETE ON hosting_accounts REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')');

CREATE TABLE hosting_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  at timestamptz NOT NULL,
  event text NOT NULL,
  status text NOT NULL,
  note text,
  -- What happens again and again in a row, as the tries while a node is down, is one line.
  last_at timestamptz,
  count integer NOT NULL DEFAULT 1
);
CREATE INDEX hosting_history_account ON hosting_history (account_id, id);
CREATE TRIGGER told AFTER INSERT ON hosting_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hosting_history_told();

-- What an account's site has sent, as each of its nodes counted it. An account that comes back to a node in the same month is counted
-- from 0 there, under another uid.
CREATE TABLE hosting_traffic (
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  node_id text NOT NULL,
  -- UTC, 2026-11.
  month text NOT NULL CHECK (month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'),
  bytes bigint NOT NULL CHECK (bytes >= 0),
  -- Whose count it is.
  uid bigint,
  -- What is in `bytes` of earlier uids.
  bytes_before bigint NOT NULL DEFAULT 0 CHECK (bytes_before >= 0),
  PRIMARY KEY (account_id, month, node_id)
);

-- An account's way from one node to another.
CREATE TABLE hosting_moves (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  state text NOT NULL
    CHECK (state IN ('Copying', 'Freezing', 'Finishing', 'Leaving', 'Moved', 'Returning', 'Returned')),
  source_node_id text NOT NULL,
  source_uid bigint NOT NULL,
  target_node_id text NOT NULL CHECK (target_node_id <> source_node_id),
  target_uid bigint NOT NULL UNIQUE DEFAULT nextval('hosting_uid'),
  -- Committed, until it has ended, on the one of the two nodes that the account is not at.
  reserved_bytes bigint NOT NULL CHECK (reserved_bytes >= 0),
  -- How long the source goes on serving the site after the switch.
  grace_seconds integer NOT NULL CHECK (grace_seconds >= 0),
  -- Counts who has worked on it: what an earlier one still does is not wanted any more.
  run integer NOT NULL DEFAULT 0,
  is_cancelled boolean NOT NULL DEFAULT false,
  files_done integer NOT NULL DEFAULT 0,
  files_total integer NOT NULL DEFAULT 0,
  bytes_done bigint NOT NULL DEFAULT 0,
  -- Failures in a row; when it is tried next, or what is due then is done.
  backoff_count integer NOT NULL DEFAULT 0,
  next_step_at timestamptz,
  -- What it waits for.
  note text,
  -- Why the account stays where it was.
  reason text,
  created_at timestamptz NOT NULL,
  frozen_at timestamptz,
  switched_at timestamptz,
  ended_at timestamptz,
  updated_at timestamptz NOT NULL,
  -- Since when it has only failed in the state that it is in.
  trouble_since timestamptz,
  -- Until its uid is compared with what the nodes have: no node gets it before.
  must_check_uid boolean NOT NULL DEFAULT false,
  version bigint NOT NULL DEFAULT 0,
  CHECK ((ended_at IS NULL) = (state NOT IN ('Moved', 'Returned')))
);
CREATE UNIQUE INDEX hosting_moves_live ON hosting_moves (account_id) WHERE ended_at IS NULL;
CREATE INDEX hosting_moves_account ON hosting_moves (account_id, id);
CREATE INDEX hosting_moves_open ON hosting_moves (id) WHERE ended_at IS NULL;
CREATE INDEX hosting_moves_source_uid ON hosting_moves (source_uid);
CREATE INDEX hosting_moves_next_step ON hosting_moves (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at ON hosting_moves
  FOR EACH ROW EXECUTE FUNCTION hosting_move_has_work();
-- How far a move's copying is: this is a report, and takes precedence over nothing.
CREATE TRIGGER count_version BEFORE UPDATE OF state, run, target_uid, must_check_uid, is_cancelled, backoff_count, next_step_at
    ON hosting_moves
  FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON hosting_moves FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.updated_at))
  EXECUTE FUNCTION row_is_due('hosting-moves');

-- Names in addition to the platform's at which an account's site answers, once control over them is proven. Many accounts may
-- wait to prove the same name, so that the first to ask cannot keep it from its holder; it is proven for one account at a time.
CREATE TABLE host_names (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id bigint NOT NULL REFERENCES hosting_accounts,
  host_name text COLLATE "C" NOT NULL,
  -- What the TXT record has to show: a different one for each account, so that pointing at another account's proves nothing.
  proof text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''),
  status text NOT NULL CHECK (status IN ('Waiting', 'Proven')),
  -- identifier: where sites answer at their bare identifiers (the sandbox), that is a host name like any other, which passes to
  -- the account that proves the name.
  proven_by text CHECK (proven_by IN ('dns', 'portfolio', 'identifier')),
  -- Why it is not proven, or what was wrong when it was last checked.
  reason text,
  -- Consecutive checks without success, while it waits; since when the record of a proven one is missing.
  misses integer NOT NULL DEFAULT 0,
  missing_since timestamptz,
  created_at timestamptz NOT NULL,
  checked_at timestamptz,
  -- Without one it is checked when it is requested again, or when the domain name changes its holder.
  next_check_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  next_step_at timestamptz,
  UNIQUE (account_id, host_name),
  CHECK ((status = 'Proven') = (proven_by IS NOT NULL)),
  CHECK (status = 'Proven' OR missing_since IS NULL)
);
CREATE UNIQUE INDEX host_names_proven ON host_names (host_name) WHERE status = 'Proven';
CREATE INDEX host_names_due ON host_names (next_check_at) WHERE next_check_at IS NOT NULL;
CREATE INDEX host_names_next_step ON host_names (next_step_at) WHERE next_step_at IS NOT NULL;
-- As hosting_accounts_backwards.
CREATE INDEX host_names_backwards ON host_names ((reverse(host_name)) COLLATE "C");
CREATE TRIGGER count_version BEFORE UPDATE ON host_names FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON host_names FOR EACH ROW
  WHEN (NEW.next_step_at <= greatest(clock_timestamp() + interval '1 second', NEW.created_at))
  EXECUTE FUNCTION row_is_due('host-names');

-- Host names that wait until a worker asks the name servers about them. Name servers that are silent hold a place for seconds,
-- so resellers take turns: one with many names waiting delays only those.
CREATE TABLE host_name_questions (
  host_name_id bigint PRIMARY KEY REFERENCES host_names ON DELETE CASCADE,
  reseller_id bigint NOT NULL,
  -- The lowest goes first. Each reseller's next name comes a turn later, and a new one comes into the turn in progress
  -- (start-time fair queueing).
  turn bigint NOT NULL,
  version bigint NOT NULL DEFAULT 0,
  next_step_at timestamptz DEFAULT now()
);
CREATE INDEX host_name_questions_reseller ON host_name_questions (reseller_id, turn);
CREATE INDEX host_name_questions_next_step ON host_name_questions (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE TRIGGER count_version BEFORE UPDATE ON host_name_questions FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE ON host_name_questions FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL) EXECUTE FUNCTION row_is_due('host-name-questions');


-- The channel of the nodes' agents: what they ask for, and what they say. A node keeps no database, so all of it is here.

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

-- One per node that has an agent. The transaction that issues a version holds this row's lock until its commit: so versions
-- become visible in their order, and a reader that has seen one has seen all below it.
CREATE TABLE node_channels (
  node_id text PRIMARY KEY REFERENCES hosting_nodes ON DELETE CASCADE,
  -- Ed25519, made on the node; null until a server has joined.
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
  refused_reason text,
  -- As the agent last reported it.
  uid_highest bigint
);

-- The desired state of each account of a node.
CREATE TABLE node_states (
  node_id text NOT NULL REFERENCES node_channels ON DELETE CASCADE,
  uid bigint NOT NULL,
  identifier text NOT NULL,
  version bigint NOT NULL,
  -- Without the hash; null: the account is to be removed, and its uid is never used again.
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
  node_id text NOT NULL REFERENCES node_channels ON DELETE CASCADE,
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
  node_id text NOT NULL REFERENCES node_channels ON DELETE CASCADE,
  version bigint NOT NULL,
  method text NOT NULL,
  identifier text NOT NULL,
  uid bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX node_questions_version ON node_questions (node_id, version);

CREATE TABLE node_answer_parts (
  question_id uuid NOT NULL REFERENCES node_questions ON DELETE CASCADE,
  part integer NOT NULL,
  parts integer NOT NULL,
  -- A one-time login can be in it.
  text_sealed bytea NOT NULL,
  PRIMARY KEY (question_id, part)
);


-- Lists: what makes any page cost what the first one costs, and the total exact without counting.
--
-- Each reseller's list is cut into chunks of neighbouring names, and each chunk knows how many rows it holds. The row
-- at position k is found by adding up chunk counts (some 1,400 small rows for a million names) and then walking at most
-- one chunk, instead of k rows. Triggers keep the counts in the transaction that changes the list; a transaction that
-- changes a chunk holds its row lock until its end, so counts and committed rows never differ.

CREATE TABLE list_chunks (
  list text NOT NULL,
  reseller_id bigint NOT NULL,
  first_name text COLLATE "C" NOT NULL,
  row_count integer NOT NULL CHECK (row_count >= 0),
  PRIMARY KEY (list, reseller_id, first_name)
);

-- The rows that the lists show; the list of hosting accounts has all but the failed and the removed ones.
CREATE VIEW listed_names AS
  SELECT 'domains'::text AS list, reseller_id, domain_name AS name FROM domains
  UNION ALL
  SELECT 'hosting'::text AS list, reseller_id, identifier AS name FROM hosting_accounts
    WHERE status NOT IN ('Failed', 'Removed')
  UNION ALL
  SELECT 'renewals'::text AS list, reseller_id, list_key AS name FROM renewals
  UNION ALL
  SELECT 'renewals/' || status AS list, reseller_id, list_key AS name FROM renewals
  UNION ALL
  SELECT 'departures'::text AS list, reseller_id, list_key AS name FROM domains_ended;

-- A reseller's list of renewals, whole and by status. An ended one shows what became of it, a live one what is set.
CREATE VIEW listed_renewals AS
  SELECT renewals.reseller_id, list_key, renewals.domain_name, term_ends_at, due_at, renewals.status, renewed_until,
    updated_at, CASE WHEN ended_at IS NULL THEN will_renew ELSE renewals.status = 'Renewed' END AS will_renew
  FROM renewals LEFT JOIN domains ON domains.domain_name = renewals.domain_name;


-- Events: what resellers learn of. Triggers write an event in the transaction of what happened, so no writer can forget one,
-- and none reports what was rolled back. Types and their data: src/events/catalogue.ts.

-- Transactions are numbered by their database cluster. A restore begins a new era, because it may begin their numbers from another
-- start.
CREATE TABLE event_log (
  era integer NOT NULL,
  -- The cluster, the database and this table, as src/events/log.ts reads them: another database of the same cluster is another origin,
  -- and so is a dump that was restored into the same database, which makes another table. A promotion is not a restore, so the
  -- timeline is no part of it.
  origin text NOT NULL,
  -- The last event that was deleted.
  deleted_era integer NOT NULL DEFAULT 0,
  deleted_transaction xid8 NOT NULL DEFAULT '0',
  deleted_number bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX event_log_one_row ON event_log ((true));
INSERT INTO event_log (era, origin)
  SELECT 1, concat_ws('/', system_identifier, database.oid, 'event_log'::regclass::oid)
  FROM pg_control_system(), pg_database AS database WHERE datname = current_database();

-- The last place of each era of events that has ended. A restored database has lost what came after it.
CREATE TABLE event_eras (
  era integer PRIMARY KEY,
  last_transaction xid8 NOT NULL,
  last_number bigint NOT NULL
);

CREATE TABLE events (
  era integer NOT NULL,
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  reseller_id bigint NOT NULL REFERENCES resellers,
  at timestamptz NOT NULL,
  type text NOT NULL,
  -- The name or the identifier that it is about.
  subject text NOT NULL,
  data jsonb NOT NULL,
  PRIMARY KEY (era, transaction, number)
);
CREATE INDEX events_reseller ON events (reseller_id, era, transaction, number);
CREATE INDEX events_at ON events (at);
CREATE TRIGGER written AFTER INSERT ON events REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION events_written();


-- Webhooks: addresses of resellers that get their events. The row is the job: a step turns new events into deliveries, and sends those
-- that are due. A delivery keeps its event's id however often it is sent. What a webhook can store has bounds: src/webhooks/kept.ts.

CREATE TABLE webhooks (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  webhook_code text NOT NULL UNIQUE,
  reseller_id bigint NOT NULL REFERENCES resellers,
  url text NOT NULL,
  description text NOT NULL,
  -- Types and families; null: all.
  types text[],
  -- Those of the key that wrote this row last: it gets no events that the key may not read.
  scopes text[] NOT NULL,
  secret_sealed bytea NOT NULL,
  -- The previous secret, which also signs until then.
  previous_secret_sealed bytea,
  previous_until timestamptz,
  is_enabled boolean NOT NULL DEFAULT true,
  disabled_reason text,
  -- Since when every delivery has failed.
  failing_since timestamptz,
  failure_count integer NOT NULL DEFAULT 0,
  -- The place in the log of events up to which there are deliveries.
  era integer NOT NULL,
  transaction xid8 NOT NULL,
  number bigint NOT NULL,
  -- What it shows happened before the webhook was made, although it lies after the place. Null: nothing.
  begun pg_snapshot DEFAULT pg_current_snapshot(),
  created_at timestamptz NOT NULL,
  next_step_at timestamptz,
  version bigint NOT NULL DEFAULT 0,
  -- Deliveries since the last count of those kept.
  unchecked integer NOT NULL DEFAULT 0,
  -- After a failure nothing is sent before this time, unless a person asks.
  paused_until timestamptz,
  -- A URL must answer a test before it gets events.
  verified_at timestamptz,
  CHECK ((previous_secret_sealed IS NULL) = (previous_until IS NULL)),
  CHECK (is_enabled OR next_step_at IS NULL)
);
CREATE INDEX webhooks_reseller ON webhooks (reseller_id, id);
CREATE INDEX webhooks_step ON webhooks (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE TRIGGER count_version BEFORE UPDATE ON webhooks FOR EACH ROW EXECUTE FUNCTION count_version();
CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON webhooks FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL) EXECUTE FUNCTION row_is_due('webhooks');
-- The machine of webhooks that fail also tries those that have not answered yet.
CREATE TRIGGER row_is_due_to_try AFTER INSERT OR UPDATE OF next_step_at ON webhooks FOR EACH ROW
  WHEN (NEW.next_step_at IS NOT NULL AND (NEW.verified_at IS NULL OR NEW.failing_since IS NOT NULL))
  EXECUTE FUNCTION row_is_due('webhooks-failing');

CREATE TABLE webhook_deliveries (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  webhook_id bigint NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  event_id text NOT NULL,
  type text NOT NULL,
  body jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'Pending' CHECK (status IN ('Pending', 'Delivered', 'Failed')),
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  -- It is given up after this time.
  ends_at timestamptz NOT NULL,
  attempted_at timestamptz,
  duration_ms integer,
  answer_status integer,
  answer_text text,
  error_text text,
  UNIQUE (webhook_id, event_id)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_at) WHERE status = 'Pending';
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (webhook_id, created_at, event_id);
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
-- Answers are kept for failures, the last of a webhook.
CREATE INDEX webhook_deliveries_answers ON webhook_deliveries (webhook_id, attempted_at, id) WHERE answer_text IS NOT NULL;
CREATE INDEX webhook_deliveries_tests ON webhook_deliveries (webhook_id, id) WHERE type = 'webhook.test';

-- How fast an account may send to a host.
CREATE TABLE webhook_hosts (
  reseller_id bigint NOT NULL REFERENCES resellers,
  -- Empty: all that have not answered a test.
  host text NOT NULL,
  -- The requests so far, at the pace of the host, take until then.
  spent_until timestamptz NOT NULL,
  -- Answers 200 to 299, up to the number at which the pace is highest.
  answers integer NOT NULL DEFAULT 1,
  PRIMARY KEY (reseller_id, host)
);
CREATE INDEX webhook_hosts_age ON webhook_hosts (spent_until);
