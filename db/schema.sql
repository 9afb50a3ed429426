-- What migrations and functions add up to, printed by test/schema.test.ts. For reading only: README.md says how to change it.
-- UPDATE_GOLDEN=1 npm test -- test/schema.test.ts

TABLE alarm_channels
  name text NOT NULL
  seen_at timestamp with time zone NOT NULL
  failing_since timestamp with time zone
  failure_count integer NOT NULL DEFAULT 0
  paused_until timestamp with time zone
  error_text text
  next_step_at timestamp with time zone NOT NULL
  version bigint NOT NULL DEFAULT 0
  CONSTRAINT alarm_channels_pkey PRIMARY KEY (name)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.alarm_channels FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.alarm_channels FOR EACH ROW EXECUTE FUNCTION row_is_due('alarm-channels', 'name')

TABLE alarm_messages
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  channel text NOT NULL
  alarm_id bigint
  what text NOT NULL
  created_at timestamp with time zone NOT NULL
  status text NOT NULL DEFAULT 'Pending'::text
  attempts integer NOT NULL DEFAULT 0
  sent_at timestamp with time zone
  summary_of bigint
  error_text text
  CONSTRAINT alarm_messages_alarm_id_channel_what_key UNIQUE (alarm_id, channel, what)
  CONSTRAINT alarm_messages_alarm_id_fkey FOREIGN KEY (alarm_id) REFERENCES alarms(id) ON DELETE CASCADE
  CONSTRAINT alarm_messages_channel_fkey FOREIGN KEY (channel) REFERENCES alarm_channels(name) ON DELETE CASCADE
  CONSTRAINT alarm_messages_check CHECK (((what = 'test'::text) = (alarm_id IS NULL)))
  CONSTRAINT alarm_messages_check1 CHECK (((status = 'Sent'::text) = (sent_at IS NOT NULL)))
  CONSTRAINT alarm_messages_pkey PRIMARY KEY (id)
  CONSTRAINT alarm_messages_status_check CHECK ((status = ANY (ARRAY['Pending'::text, 'Sent'::text, 'Failed'::text])))
  CONSTRAINT alarm_messages_what_check CHECK ((what = ANY (ARRAY['opened'::text, 'resolved'::text, 'test'::text])))
  CREATE INDEX alarm_messages_age ON public.alarm_messages USING btree (created_at)
  CREATE INDEX alarm_messages_sent ON public.alarm_messages USING btree (channel, sent_at) WHERE ((summary_of IS NULL) AND (sent_at IS NOT NULL))
  CREATE INDEX alarm_messages_waiting ON public.alarm_messages USING btree (channel, attempts, id) WHERE (status = 'Pending'::text)

SEQUENCE alarm_messages_id_seq

TABLE alarms
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  kind text NOT NULL
  subject text NOT NULL
  note text NOT NULL
  since timestamp with time zone NOT NULL
  last_at timestamp with time zone NOT NULL
  count integer NOT NULL
  resolved_at timestamp with time zone
  CONSTRAINT alarms_pkey PRIMARY KEY (id)
  CREATE INDEX alarms_open_newest ON public.alarms USING btree (id) WHERE (resolved_at IS NULL)
  CREATE INDEX alarms_subject ON public.alarms USING btree (kind, subject, resolved_at)
  CREATE UNIQUE INDEX alarms_open ON public.alarms USING btree (kind, subject) WHERE (resolved_at IS NULL)
  CREATE TRIGGER told_opened AFTER INSERT ON public.alarms FOR EACH ROW EXECUTE FUNCTION alarm_told()
  CREATE TRIGGER told_resolved AFTER UPDATE OF resolved_at ON public.alarms FOR EACH ROW WHEN (((old.resolved_at IS NULL) AND (new.resolved_at IS NOT NULL))) EXECUTE FUNCTION alarm_told()

SEQUENCE alarms_id_seq

TABLE api_keys
  id text NOT NULL
  reseller_id bigint NOT NULL
  label text NOT NULL
  secret_sealed bytea NOT NULL
  scopes text[] NOT NULL
  allowed_addresses text[] NOT NULL DEFAULT '{}'::text[]
  created_at timestamp with time zone NOT NULL
  expires_at timestamp with time zone
  revoked_at timestamp with time zone
  CONSTRAINT api_keys_id_check CHECK ((id ~ '^[0-9a-f]{32}$'::text))
  CONSTRAINT api_keys_pkey PRIMARY KEY (id)
  CONSTRAINT api_keys_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX api_keys_reseller ON public.api_keys USING btree (reseller_id)
  CREATE TRIGGER api_key_changed AFTER DELETE OR UPDATE ON public.api_keys FOR EACH ROW EXECUTE FUNCTION notify_api_key_changed()

TABLE attempts WITH (fillfactor=70)
  cl_trid text NOT NULL
  order_id bigint NOT NULL
  number integer NOT NULL
  command text NOT NULL
  committed_at timestamp with time zone NOT NULL
  answered_at timestamp with time zone
  result_code integer
  sv_trid text
  epoch bigint
  abandoned_at timestamp with time zone
  CONSTRAINT attempts_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
  CONSTRAINT attempts_order_id_number_key UNIQUE (order_id, number)
  CONSTRAINT attempts_pkey PRIMARY KEY (cl_trid)
  CREATE INDEX attempts_abandoned ON public.attempts USING btree (abandoned_at) WHERE (abandoned_at IS NOT NULL)

TABLE auth_codes
  domain_name text COLLATE "C" NOT NULL
  registry_id text NOT NULL
  order_code text NOT NULL
  code_sealed bytea
  expires_at timestamp with time zone NOT NULL
  replace_at timestamp with time zone NOT NULL
  CONSTRAINT auth_codes_domain_name_fkey FOREIGN KEY (domain_name) REFERENCES domains(domain_name) ON DELETE CASCADE
  CONSTRAINT auth_codes_pkey PRIMARY KEY (domain_name)
  CREATE INDEX auth_codes_replace ON public.auth_codes USING btree (registry_id, replace_at)

TABLE blocked_names
  name text COLLATE "C" NOT NULL
  reason text NOT NULL
  created_at timestamp with time zone NOT NULL
  CONSTRAINT blocked_names_pkey PRIMARY KEY (name)

TABLE chores
  name text NOT NULL
  next_step_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  failures integer NOT NULL DEFAULT 0
  CONSTRAINT chores_pkey PRIMARY KEY (name)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.chores FOR EACH ROW EXECUTE FUNCTION count_version()

TABLE committed_requests
  key_id text NOT NULL
  nonce text NOT NULL
  signed_at bigint NOT NULL
  request_digest bytea NOT NULL
  status integer NOT NULL
  headers jsonb NOT NULL
  body text
  created_at timestamp with time zone NOT NULL
  CONSTRAINT committed_requests_pkey PRIMARY KEY (key_id, nonce)
  CREATE INDEX committed_requests_signed_at ON public.committed_requests USING btree (signed_at)
  CREATE TRIGGER committed_requests_use_nonces AFTER INSERT ON public.committed_requests FOR EACH ROW EXECUTE FUNCTION use_nonce()

TABLE contacts
  reseller_id bigint NOT NULL
  digest text NOT NULL
  data_sealed bytea NOT NULL
  created_at timestamp with time zone NOT NULL
  look_at timestamp with time zone
  unused_since timestamp with time zone
  CONSTRAINT contacts_pkey PRIMARY KEY (reseller_id, digest)
  CONSTRAINT contacts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX contacts_look ON public.contacts USING btree (look_at NULLS FIRST)

TABLE domain_history
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  domain_name text COLLATE "C" NOT NULL
  reseller_id bigint NOT NULL
  at timestamp with time zone NOT NULL
  event text NOT NULL
  note text
  CONSTRAINT domain_history_pkey PRIMARY KEY (id)
  CONSTRAINT domain_history_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX domain_history_name ON public.domain_history USING btree (domain_name, id)
  CREATE TRIGGER told AFTER INSERT ON public.domain_history REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION domain_history_told()

SEQUENCE domain_history_id_seq

TABLE domains WITH (autovacuum_vacuum_scale_factor=0.002, autovacuum_vacuum_insert_scale_factor=0.002)
  domain_name text COLLATE "C" NOT NULL
  reseller_id bigint NOT NULL
  order_id bigint
  registry_id text NOT NULL
  registration_date timestamp with time zone NOT NULL
  expiration_date timestamp with time zone NOT NULL
  registry_ex_date timestamp with time zone NOT NULL
  will_renew boolean NOT NULL
  status text NOT NULL
  name_servers text[] NOT NULL DEFAULT '{}'::text[]
  renewal_id bigint
  statuses text[] NOT NULL DEFAULT '{}'::text[]
  delegation jsonb NOT NULL DEFAULT '[]'::jsonb
  handles jsonb
  dnssec jsonb
  shown_at timestamp with time zone
  transfer jsonb
  gone_since timestamp with time zone
  look_at timestamp with time zone
  looked_at timestamp with time zone DEFAULT now()
  CONSTRAINT domains_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
  CONSTRAINT domains_order_id_key UNIQUE (order_id)
  CONSTRAINT domains_pkey PRIMARY KEY (domain_name)
  CONSTRAINT domains_renewal_id_fkey FOREIGN KEY (renewal_id) REFERENCES renewals(id)
  CONSTRAINT domains_renewal_id_key UNIQUE (renewal_id)
  CONSTRAINT domains_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX domains_delegation ON public.domains USING gin (delegation jsonb_path_ops)
  CREATE INDEX domains_gone ON public.domains USING btree (registry_id, gone_since) WHERE (gone_since IS NOT NULL)
  CREATE INDEX domains_handles ON public.domains USING gin (handles jsonb_path_ops)
  CREATE INDEX domains_look ON public.domains USING btree (registry_id, look_at) WHERE (look_at IS NOT NULL)
  CREATE INDEX domains_looked_at ON public.domains USING btree (registry_id, looked_at NULLS FIRST)
  CREATE INDEX domains_transfer ON public.domains USING btree (domain_name) WHERE (transfer IS NOT NULL)
  CREATE INDEX domains_unscheduled ON public.domains USING btree (registry_id, expiration_date, domain_name) WHERE (renewal_id IS NULL)
  CREATE UNIQUE INDEX domains_portfolio ON public.domains USING btree (reseller_id, domain_name) INCLUDE (expiration_date, will_renew)
  CREATE TRIGGER host_names_of_domain AFTER DELETE OR UPDATE OF domain_name, reseller_id ON public.domains FOR EACH ROW EXECUTE FUNCTION host_names_of_domain()
  CREATE TRIGGER host_names_of_new_domains AFTER INSERT ON public.domains REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION host_names_of_new_domains()
  CREATE TRIGGER list_deleted AFTER DELETE ON public.domains REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true')
  CREATE TRIGGER list_inserted AFTER INSERT ON public.domains REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_new_domains()
  CREATE TRIGGER list_updated AFTER UPDATE ON public.domains REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('domains', 'domain_name', 'true')
  CREATE TRIGGER transfer_told AFTER UPDATE OF transfer ON public.domains FOR EACH ROW WHEN (((old.transfer IS DISTINCT FROM new.transfer) AND (((new.transfer ->> 'status'::text) = 'pending'::text) OR ((new.transfer IS NULL) AND ((old.transfer ->> 'status'::text) = 'pending'::text))))) EXECUTE FUNCTION transfer_told()
  CREATE TRIGGER zone_of_other_holder AFTER UPDATE OF reseller_id ON public.domains FOR EACH ROW WHEN ((old.reseller_id <> new.reseller_id)) EXECUTE FUNCTION zone_of_other_holder()
  CREATE TRIGGER zones_of_new_domains AFTER INSERT ON public.domains REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION zones_of_new_domains()

TABLE domains_ended
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  domain_name text COLLATE "C" NOT NULL
  reseller_id bigint NOT NULL
  order_id bigint
  renewal_id bigint
  registry_id text NOT NULL
  registration_date timestamp with time zone NOT NULL
  expiration_date timestamp with time zone NOT NULL
  registry_ex_date timestamp with time zone NOT NULL
  ended_at timestamp with time zone NOT NULL
  reason text
  gaining_registrar text
  restorable_until timestamp with time zone
  list_key text COLLATE "C" NOT NULL GENERATED ALWAYS AS ((((lpad((('253402300799999'::bigint - ((EXTRACT(epoch FROM (ended_at - '1970-01-01 00:00:00+00'::timestamp with time zone)) * (1000)::numeric))::bigint))::text, 15, '0'::text) || ' '::text) || domain_name) || ' '::text) || (id)::text)
  will_renew boolean NOT NULL DEFAULT true
  handles jsonb
  CONSTRAINT domains_ended_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
  CONSTRAINT domains_ended_pkey PRIMARY KEY (id)
  CONSTRAINT domains_ended_renewal_id_fkey FOREIGN KEY (renewal_id) REFERENCES renewals(id)
  CONSTRAINT domains_ended_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX domains_ended_handles ON public.domains_ended USING gin (handles jsonb_path_ops) WHERE (restorable_until IS NOT NULL)
  CREATE INDEX domains_ended_name ON public.domains_ended USING btree (domain_name, id)
  CREATE INDEX domains_ended_transferred ON public.domains_ended USING btree (id) WHERE (reason = 'transferred'::text)
  CREATE UNIQUE INDEX domains_ended_list ON public.domains_ended USING btree (reseller_id, list_key)
  CREATE TRIGGER list_deleted AFTER DELETE ON public.domains_ended REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true')
  CREATE TRIGGER list_inserted AFTER INSERT ON public.domains_ended REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true')
  CREATE TRIGGER list_updated AFTER UPDATE ON public.domains_ended REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('departures', 'list_key', 'true')
  CREATE TRIGGER told AFTER INSERT ON public.domains_ended REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION departures_told()
  CREATE TRIGGER zones_leave AFTER INSERT ON public.domains_ended REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION zones_leave()

SEQUENCE domains_ended_id_seq

TABLE event_eras
  era integer NOT NULL
  last_transaction xid8 NOT NULL
  last_number bigint NOT NULL
  CONSTRAINT event_eras_pkey PRIMARY KEY (era)

TABLE event_log
  era integer NOT NULL
  origin text NOT NULL
  deleted_era integer NOT NULL DEFAULT 0
  deleted_transaction xid8 NOT NULL DEFAULT '0'::xid8
  deleted_number bigint NOT NULL DEFAULT 0
  CREATE UNIQUE INDEX event_log_one_row ON public.event_log USING btree ((true))

TABLE events
  era integer NOT NULL
  transaction xid8 NOT NULL DEFAULT pg_current_xact_id()
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  reseller_id bigint NOT NULL
  at timestamp with time zone NOT NULL
  type text NOT NULL
  subject text NOT NULL
  data jsonb NOT NULL
  CONSTRAINT events_pkey PRIMARY KEY (era, transaction, number)
  CONSTRAINT events_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX events_at ON public.events USING btree (at)
  CREATE INDEX events_reseller ON public.events USING btree (reseller_id, era, transaction, number)
  CREATE TRIGGER written AFTER INSERT ON public.events REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION events_written()

SEQUENCE events_number_seq

TABLE host_name_questions
  host_name_id bigint NOT NULL
  reseller_id bigint NOT NULL
  turn bigint NOT NULL
  version bigint NOT NULL DEFAULT 0
  next_step_at timestamp with time zone DEFAULT now()
  CONSTRAINT host_name_questions_host_name_id_fkey FOREIGN KEY (host_name_id) REFERENCES host_names(id) ON DELETE CASCADE
  CONSTRAINT host_name_questions_pkey PRIMARY KEY (host_name_id)
  CREATE INDEX host_name_questions_next_step ON public.host_name_questions USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE INDEX host_name_questions_reseller ON public.host_name_questions USING btree (reseller_id, turn)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.host_name_questions FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE ON public.host_name_questions FOR EACH ROW WHEN ((new.next_step_at IS NOT NULL)) EXECUTE FUNCTION row_is_due('host-name-questions')

TABLE host_names
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  account_id bigint NOT NULL
  host_name text COLLATE "C" NOT NULL
  proof text NOT NULL DEFAULT replace((gen_random_uuid())::text, '-'::text, ''::text)
  status text NOT NULL
  proven_by text
  reason text
  misses integer NOT NULL DEFAULT 0
  missing_since timestamp with time zone
  created_at timestamp with time zone NOT NULL
  checked_at timestamp with time zone
  next_check_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  next_step_at timestamp with time zone
  CONSTRAINT host_names_account_id_fkey FOREIGN KEY (account_id) REFERENCES hosting_accounts(id)
  CONSTRAINT host_names_account_id_host_name_key UNIQUE (account_id, host_name)
  CONSTRAINT host_names_check CHECK (((status = 'Proven'::text) = (proven_by IS NOT NULL)))
  CONSTRAINT host_names_check1 CHECK (((status = 'Proven'::text) OR (missing_since IS NULL)))
  CONSTRAINT host_names_pkey PRIMARY KEY (id)
  CONSTRAINT host_names_proven_by_check CHECK ((proven_by = ANY (ARRAY['dns'::text, 'portfolio'::text, 'identifier'::text])))
  CONSTRAINT host_names_status_check CHECK ((status = ANY (ARRAY['Waiting'::text, 'Proven'::text])))
  CREATE INDEX host_names_backwards ON public.host_names USING btree (reverse(host_name))
  CREATE INDEX host_names_due ON public.host_names USING btree (next_check_at) WHERE (next_check_at IS NOT NULL)
  CREATE INDEX host_names_next_step ON public.host_names USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE UNIQUE INDEX host_names_proven ON public.host_names USING btree (host_name) WHERE (status = 'Proven'::text)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.host_names FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.host_names FOR EACH ROW WHEN ((new.next_step_at <= GREATEST((clock_timestamp() + '00:00:01'::interval), new.created_at))) EXECUTE FUNCTION row_is_due('host-names')

SEQUENCE host_names_id_seq

TABLE hosting_accounts
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  identifier text COLLATE "C" NOT NULL
  reseller_id bigint NOT NULL
  servicepack_id bigint NOT NULL
  uid bigint NOT NULL DEFAULT nextval('hosting_uid'::regclass)
  password_hash_sealed bytea NOT NULL
  disk_quota_bytes bigint NOT NULL
  files_max integer NOT NULL
  ftp_sessions_max integer NOT NULL
  disk_used_bytes bigint NOT NULL DEFAULT 0
  status text NOT NULL
  node_id text
  backoff_count integer NOT NULL DEFAULT 0
  next_step_at timestamp with time zone
  operator_note text
  error_text text
  created_at timestamp with time zone NOT NULL
  ready_at timestamp with time zone
  updated_at timestamp with time zone NOT NULL
  servicepack_version integer NOT NULL DEFAULT 1
  files_used integer NOT NULL DEFAULT 0
  wanted_version bigint NOT NULL DEFAULT 1
  applied_version bigint NOT NULL DEFAULT 0
  wanted_at timestamp with time zone NOT NULL DEFAULT now()
  suspended_at timestamp with time zone
  suspended_reason text
  removal_requested_at timestamp with time zone
  is_frozen boolean NOT NULL DEFAULT false
  must_check_uid boolean NOT NULL DEFAULT false
  version bigint NOT NULL DEFAULT 0
  ftp_is_off boolean NOT NULL DEFAULT false
  reseller_suspended_at timestamp with time zone
  reseller_suspended_reason text
  CONSTRAINT hosting_accounts_check CHECK (((suspended_at IS NULL) = (suspended_reason IS NULL)))
  CONSTRAINT hosting_accounts_check1 CHECK ((applied_version <= wanted_version))
  CONSTRAINT hosting_accounts_check2 CHECK (((reseller_suspended_reason IS NULL) OR (reseller_suspended_at IS NOT NULL)))
  CONSTRAINT hosting_accounts_pkey PRIMARY KEY (id)
  CONSTRAINT hosting_accounts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CONSTRAINT hosting_accounts_servicepack_id_servicepack_version_fkey FOREIGN KEY (servicepack_id, servicepack_version) REFERENCES service_packs(id, version)
  CONSTRAINT hosting_accounts_status_check CHECK ((status = ANY (ARRAY['Provisioning'::text, 'Ready'::text, 'Suspended'::text, 'Failed'::text, 'Removed'::text])))
  CONSTRAINT hosting_accounts_uid_key UNIQUE (uid)
  CREATE INDEX hosting_accounts_backwards ON public.hosting_accounts USING btree (reverse(identifier)) WHERE (status <> ALL (ARRAY['Failed'::text, 'Removed'::text]))
  CREATE INDEX hosting_accounts_next_step ON public.hosting_accounts USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE INDEX hosting_accounts_of_node ON public.hosting_accounts USING btree (node_id, id) WHERE (status <> ALL (ARRAY['Failed'::text, 'Removed'::text]))
  CREATE INDEX hosting_accounts_ready ON public.hosting_accounts USING btree (ready_at DESC) WHERE (ready_at IS NOT NULL)
  CREATE INDEX hosting_accounts_reseller ON public.hosting_accounts USING btree (reseller_id, identifier, id)
  CREATE INDEX hosting_accounts_unapplied ON public.hosting_accounts USING btree (id) WHERE (applied_version < wanted_version)
  CREATE UNIQUE INDEX hosting_accounts_identifier ON public.hosting_accounts USING btree (identifier) WHERE (status <> ALL (ARRAY['Failed'::text, 'Removed'::text]))
  CREATE UNIQUE INDEX hosting_accounts_portfolio ON public.hosting_accounts USING btree (reseller_id, identifier) WHERE (status <> ALL (ARRAY['Failed'::text, 'Removed'::text]))
  CREATE TRIGGER count_version BEFORE UPDATE OF status, node_id, uid, must_check_uid, error_text, wanted_version, applied_version, password_hash_sealed, suspended_at, reseller_suspended_at, removal_requested_at, is_frozen, ftp_is_off, backoff_count, next_step_at ON public.hosting_accounts FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at, wanted_version ON public.hosting_accounts FOR EACH ROW EXECUTE FUNCTION hosting_account_has_work()
  CREATE TRIGGER host_names_of_ended_account AFTER UPDATE OF status ON public.hosting_accounts FOR EACH ROW WHEN ((new.status = ANY (ARRAY['Failed'::text, 'Removed'::text]))) EXECUTE FUNCTION host_names_of_ended_account()
  CREATE TRIGGER host_names_of_new_account AFTER INSERT ON public.hosting_accounts FOR EACH ROW EXECUTE FUNCTION host_names_of_new_account()
  CREATE TRIGGER hosting_move_look AFTER UPDATE OF applied_version, suspended_at, reseller_suspended_at, removal_requested_at ON public.hosting_accounts FOR EACH ROW WHEN (((old.applied_version IS DISTINCT FROM new.applied_version) OR (old.suspended_at IS DISTINCT FROM new.suspended_at) OR (old.reseller_suspended_at IS DISTINCT FROM new.reseller_suspended_at) OR (old.removal_requested_at IS DISTINCT FROM new.removal_requested_at))) EXECUTE FUNCTION hosting_move_look()
  CREATE TRIGGER list_deleted AFTER DELETE ON public.hosting_accounts REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')')
  CREATE TRIGGER list_inserted AFTER INSERT ON public.hosting_accounts REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')')
  CREATE TRIGGER list_updated AFTER UPDATE ON public.hosting_accounts REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION list_changed('hosting', 'identifier', 'status NOT IN (''Failed'', ''Removed'')')
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at, wanted_version ON public.hosting_accounts FOR EACH ROW WHEN ((new.next_step_at <= GREATEST((clock_timestamp() + '00:00:01'::interval), new.updated_at))) EXECUTE FUNCTION row_is_due('hosting-accounts')

SEQUENCE hosting_accounts_id_seq

TABLE hosting_history
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  account_id bigint NOT NULL
  at timestamp with time zone NOT NULL
  event text NOT NULL
  status text NOT NULL
  note text
  last_at timestamp with time zone
  count integer NOT NULL DEFAULT 1
  CONSTRAINT hosting_history_account_id_fkey FOREIGN KEY (account_id) REFERENCES hosting_accounts(id)
  CONSTRAINT hosting_history_pkey PRIMARY KEY (id)
  CREATE INDEX hosting_history_account ON public.hosting_history USING btree (account_id, id)
  CREATE TRIGGER told AFTER INSERT ON public.hosting_history REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION hosting_history_told()

SEQUENCE hosting_history_id_seq

TABLE hosting_moves
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  account_id bigint NOT NULL
  state text NOT NULL
  source_node_id text NOT NULL
  source_uid bigint NOT NULL
  target_node_id text NOT NULL
  target_uid bigint NOT NULL DEFAULT nextval('hosting_uid'::regclass)
  reserved_bytes bigint NOT NULL
  grace_seconds integer NOT NULL
  run integer NOT NULL DEFAULT 0
  is_cancelled boolean NOT NULL DEFAULT false
  files_done integer NOT NULL DEFAULT 0
  files_total integer NOT NULL DEFAULT 0
  bytes_done bigint NOT NULL DEFAULT 0
  backoff_count integer NOT NULL DEFAULT 0
  next_step_at timestamp with time zone
  note text
  reason text
  created_at timestamp with time zone NOT NULL
  frozen_at timestamp with time zone
  switched_at timestamp with time zone
  ended_at timestamp with time zone
  updated_at timestamp with time zone NOT NULL
  trouble_since timestamp with time zone
  must_check_uid boolean NOT NULL DEFAULT false
  version bigint NOT NULL DEFAULT 0
  CONSTRAINT hosting_moves_account_id_fkey FOREIGN KEY (account_id) REFERENCES hosting_accounts(id)
  CONSTRAINT hosting_moves_check CHECK ((target_node_id <> source_node_id))
  CONSTRAINT hosting_moves_check1 CHECK (((ended_at IS NULL) = (state <> ALL (ARRAY['Moved'::text, 'Returned'::text]))))
  CONSTRAINT hosting_moves_grace_seconds_check CHECK ((grace_seconds >= 0))
  CONSTRAINT hosting_moves_pkey PRIMARY KEY (id)
  CONSTRAINT hosting_moves_reserved_bytes_check CHECK ((reserved_bytes >= 0))
  CONSTRAINT hosting_moves_state_check CHECK ((state = ANY (ARRAY['Copying'::text, 'Freezing'::text, 'Finishing'::text, 'Leaving'::text, 'Moved'::text, 'Returning'::text, 'Returned'::text])))
  CONSTRAINT hosting_moves_target_uid_key UNIQUE (target_uid)
  CREATE INDEX hosting_moves_account ON public.hosting_moves USING btree (account_id, id)
  CREATE INDEX hosting_moves_next_step ON public.hosting_moves USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE INDEX hosting_moves_open ON public.hosting_moves USING btree (id) WHERE (ended_at IS NULL)
  CREATE INDEX hosting_moves_source_uid ON public.hosting_moves USING btree (source_uid)
  CREATE UNIQUE INDEX hosting_moves_live ON public.hosting_moves USING btree (account_id) WHERE (ended_at IS NULL)
  CREATE TRIGGER count_version BEFORE UPDATE OF state, run, target_uid, must_check_uid, is_cancelled, backoff_count, next_step_at ON public.hosting_moves FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER has_work BEFORE INSERT OR UPDATE OF next_step_at ON public.hosting_moves FOR EACH ROW EXECUTE FUNCTION hosting_move_has_work()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.hosting_moves FOR EACH ROW WHEN ((new.next_step_at <= GREATEST((clock_timestamp() + '00:00:01'::interval), new.updated_at))) EXECUTE FUNCTION row_is_due('hosting-moves')

SEQUENCE hosting_moves_id_seq

TABLE hosting_nodes
  id text NOT NULL
  kind text NOT NULL
  ftp_host text NOT NULL
  ftp_port integer NOT NULL
  web_host text NOT NULL
  web_port integer NOT NULL
  web_is_https boolean NOT NULL DEFAULT false
  settings_sealed bytea
  capacity_bytes bigint NOT NULL
  accounts_max integer NOT NULL
  committed_bytes bigint NOT NULL DEFAULT 0
  accounts_count integer NOT NULL DEFAULT 0
  tags text[] NOT NULL DEFAULT '{}'::text[]
  is_draining boolean NOT NULL DEFAULT false
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  last_seen_at timestamp with time zone
  silent_since timestamp with time zone
  uid_highest bigint NOT NULL DEFAULT 0
  restored_at timestamp with time zone
  has_skipped_uids boolean NOT NULL DEFAULT false
  CONSTRAINT hosting_nodes_accounts_count_check CHECK ((accounts_count >= 0))
  CONSTRAINT hosting_nodes_accounts_max_check CHECK ((accounts_max >= 0))
  CONSTRAINT hosting_nodes_capacity_bytes_check CHECK ((capacity_bytes >= 0))
  CONSTRAINT hosting_nodes_committed_bytes_check CHECK ((committed_bytes >= 0))
  CONSTRAINT hosting_nodes_ftp_port_check CHECK (((ftp_port >= 1) AND (ftp_port <= 65535)))
  CONSTRAINT hosting_nodes_id_check CHECK ((id ~ '^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$'::text))
  CONSTRAINT hosting_nodes_kind_check CHECK ((kind = ANY (ARRAY['embedded'::text, 'proftpd-nginx'::text, 'cpanel'::text])))
  CONSTRAINT hosting_nodes_pkey PRIMARY KEY (id)
  CONSTRAINT hosting_nodes_web_port_check CHECK (((web_port >= 1) AND (web_port <= 65535)))
  CREATE TRIGGER hosting_node_changed AFTER INSERT OR DELETE OR UPDATE OF id, kind, ftp_host, ftp_port, web_host, web_port, web_is_https, settings_sealed, is_draining ON public.hosting_nodes FOR EACH ROW EXECUTE FUNCTION notify_hosting_node_changed()

TABLE hosting_reconciles
  node_id text NOT NULL
  wanted_at timestamp with time zone NOT NULL
  repairs boolean NOT NULL
  done_at timestamp with time zone
  counts jsonb
  findings jsonb
  error_text text
  removes jsonb
  version bigint NOT NULL DEFAULT 0
  next_step_at timestamp with time zone
  CONSTRAINT hosting_reconciles_node_id_fkey FOREIGN KEY (node_id) REFERENCES hosting_nodes(id) ON DELETE CASCADE
  CONSTRAINT hosting_reconciles_pkey PRIMARY KEY (node_id)
  CREATE INDEX hosting_reconciles_next_step ON public.hosting_reconciles USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.hosting_reconciles FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.hosting_reconciles FOR EACH ROW WHEN ((new.next_step_at <= GREATEST((clock_timestamp() + '00:00:01'::interval), new.wanted_at))) EXECUTE FUNCTION row_is_due('hosting-reconciles')

TABLE hosting_traffic
  account_id bigint NOT NULL
  node_id text NOT NULL
  month text NOT NULL
  bytes bigint NOT NULL
  uid bigint
  bytes_before bigint NOT NULL DEFAULT 0
  CONSTRAINT hosting_traffic_account_id_fkey FOREIGN KEY (account_id) REFERENCES hosting_accounts(id)
  CONSTRAINT hosting_traffic_bytes_before_check CHECK ((bytes_before >= 0))
  CONSTRAINT hosting_traffic_bytes_check CHECK ((bytes >= 0))
  CONSTRAINT hosting_traffic_month_check CHECK ((month ~ '^[0-9]{4}-(0[1-9]|1[0-2])$'::text))
  CONSTRAINT hosting_traffic_pkey PRIMARY KEY (account_id, month, node_id)

SEQUENCE hosting_uid

TABLE idempotent_requests
  reseller_id bigint NOT NULL
  method text NOT NULL
  path text NOT NULL
  idempotency_key text NOT NULL
  body_mac bytea NOT NULL
  status integer NOT NULL
  headers jsonb NOT NULL
  body text
  created_at timestamp with time zone NOT NULL
  CONSTRAINT idempotent_requests_pkey PRIMARY KEY (reseller_id, method, path, idempotency_key)
  CREATE INDEX idempotent_requests_created_at ON public.idempotent_requests USING btree (created_at)

TABLE list_chunks
  list text NOT NULL
  reseller_id bigint NOT NULL
  first_name text COLLATE "C" NOT NULL
  row_count integer NOT NULL
  CONSTRAINT list_chunks_pkey PRIMARY KEY (list, reseller_id, first_name)
  CONSTRAINT list_chunks_row_count_check CHECK ((row_count >= 0))

VIEW listed_names AS
 SELECT 'domains'::text AS list,
    domains.reseller_id,
    domains.domain_name AS name
   FROM domains
UNION ALL
 SELECT 'hosting'::text AS list,
    hosting_accounts.reseller_id,
    hosting_accounts.identifier AS name
   FROM hosting_accounts
  WHERE (hosting_accounts.status <> ALL (ARRAY['Failed'::text, 'Removed'::text]))
UNION ALL
 SELECT 'renewals'::text AS list,
    renewals.reseller_id,
    renewals.list_key AS name
   FROM renewals
UNION ALL
 SELECT ('renewals/'::text || renewals.status) AS list,
    renewals.reseller_id,
    renewals.list_key AS name
   FROM renewals
UNION ALL
 SELECT 'departures'::text AS list,
    domains_ended.reseller_id,
    domains_ended.list_key AS name
   FROM domains_ended;

VIEW listed_renewals AS
 SELECT renewals.reseller_id,
    renewals.list_key,
    renewals.domain_name,
    renewals.term_ends_at,
    renewals.due_at,
    renewals.status,
    renewals.renewed_until,
    renewals.updated_at,
        CASE
            WHEN (renewals.ended_at IS NULL) THEN domains.will_renew
            ELSE (renewals.status = 'Renewed'::text)
        END AS will_renew
   FROM (renewals
     LEFT JOIN domains ON ((domains.domain_name = renewals.domain_name)));

TABLE name_questions
  id text NOT NULL
  registry_id text
  domain_name text COLLATE "C" NOT NULL
  takes_over boolean NOT NULL
  is_paced boolean NOT NULL
  asked_at timestamp with time zone NOT NULL DEFAULT now()
  answer jsonb
  CONSTRAINT name_questions_pkey PRIMARY KEY (id)
  CREATE INDEX name_questions_age ON public.name_questions USING btree (asked_at)
  CREATE INDEX name_questions_open ON public.name_questions USING btree (asked_at) WHERE (answer IS NULL)

TABLE node_answer_parts
  question_id uuid NOT NULL
  part integer NOT NULL
  parts integer NOT NULL
  text_sealed bytea NOT NULL
  CONSTRAINT node_answer_parts_pkey PRIMARY KEY (question_id, part)
  CONSTRAINT node_answer_parts_question_id_fkey FOREIGN KEY (question_id) REFERENCES node_questions(id) ON DELETE CASCADE

TABLE node_channels
  node_id text NOT NULL
  public_key text
  join_secret_hash bytea
  join_until timestamp with time zone
  join_used_at timestamp with time zone
  joined_at timestamp with time zone
  last_seen_at timestamp with time zone
  agent_version text
  sync_counter bigint NOT NULL DEFAULT 0
  report_counter bigint NOT NULL DEFAULT 0
  head bigint NOT NULL DEFAULT 0
  issued_version bigint NOT NULL DEFAULT 0
  applied_version bigint NOT NULL DEFAULT '-1'::integer
  ahead_version bigint
  usage_version bigint NOT NULL DEFAULT 1
  refused_count bigint NOT NULL DEFAULT 0
  refused_at timestamp with time zone
  refused_reason text
  uid_highest bigint
  CONSTRAINT node_channels_join_secret_hash_key UNIQUE (join_secret_hash)
  CONSTRAINT node_channels_node_id_fkey FOREIGN KEY (node_id) REFERENCES hosting_nodes(id) ON DELETE CASCADE
  CONSTRAINT node_channels_pkey PRIMARY KEY (node_id)

TABLE node_gateway
  id integer NOT NULL
  public_key text NOT NULL
  private_key_sealed bytea NOT NULL
  door_url text
  door_pin text
  CONSTRAINT node_gateway_id_check CHECK ((id = 1))
  CONSTRAINT node_gateway_pkey PRIMARY KEY (id)

TABLE node_host_names
  node_id text NOT NULL
  host_name text NOT NULL
  uid bigint NOT NULL
  CONSTRAINT node_host_names_node_id_uid_fkey FOREIGN KEY (node_id, uid) REFERENCES node_states(node_id, uid) ON DELETE CASCADE
  CONSTRAINT node_host_names_pkey PRIMARY KEY (node_id, host_name)
  CREATE INDEX node_host_names_uid ON public.node_host_names USING btree (node_id, uid)

TABLE node_questions
  id uuid NOT NULL
  node_id text NOT NULL
  version bigint NOT NULL
  method text NOT NULL
  identifier text NOT NULL
  uid bigint NOT NULL
  expires_at timestamp with time zone NOT NULL
  CONSTRAINT node_questions_node_id_fkey FOREIGN KEY (node_id) REFERENCES node_channels(node_id) ON DELETE CASCADE
  CONSTRAINT node_questions_pkey PRIMARY KEY (id)
  CREATE INDEX node_questions_version ON public.node_questions USING btree (node_id, version)

TABLE node_refusals
  node_id text NOT NULL
  uid bigint NOT NULL
  after_version bigint NOT NULL
  version bigint NOT NULL
  identifier text NOT NULL
  reason text NOT NULL
  refused_at timestamp with time zone NOT NULL
  CONSTRAINT node_refusals_node_id_fkey FOREIGN KEY (node_id) REFERENCES node_channels(node_id) ON DELETE CASCADE
  CONSTRAINT node_refusals_pkey PRIMARY KEY (node_id, uid, version)

TABLE node_states
  node_id text NOT NULL
  uid bigint NOT NULL
  identifier text NOT NULL
  version bigint NOT NULL
  state jsonb
  password_hash_sealed bytea
  held_version bigint
  held_state jsonb
  held_hash_sealed bytea
  used_bytes bigint NOT NULL DEFAULT 0
  used_files bigint NOT NULL DEFAULT 0
  traffic_month text
  traffic_bytes bigint
  usage_version bigint NOT NULL DEFAULT 0
  CONSTRAINT node_states_node_id_fkey FOREIGN KEY (node_id) REFERENCES node_channels(node_id) ON DELETE CASCADE
  CONSTRAINT node_states_pkey PRIMARY KEY (node_id, uid)
  CREATE INDEX node_states_usage ON public.node_states USING btree (node_id, usage_version) WHERE (state IS NOT NULL)
  CREATE INDEX node_states_version ON public.node_states USING btree (node_id, version)
  CREATE UNIQUE INDEX node_states_identifier ON public.node_states USING btree (node_id, identifier) WHERE (state IS NOT NULL)

TABLE nonce_parts
  part integer NOT NULL
  range bigint NOT NULL
  CONSTRAINT nonce_parts_pkey PRIMARY KEY (part)

TABLE nonce_store
  is_only boolean NOT NULL DEFAULT true
  kept_in text NOT NULL
  horizon_seconds bigint NOT NULL
  CONSTRAINT nonce_store_is_only_check CHECK (is_only)
  CONSTRAINT nonce_store_kept_in_check CHECK ((kept_in = ANY (ARRAY['journal'::text, 'database'::text])))
  CONSTRAINT nonce_store_pkey PRIMARY KEY (is_only)

TABLE order_counts WITH (fillfactor=50)
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  reseller_id bigint NOT NULL
  kind text NOT NULL
  status text NOT NULL
  row_count bigint NOT NULL
  CONSTRAINT order_counts_pkey PRIMARY KEY (id)
  CREATE INDEX order_counts_list ON public.order_counts USING btree (reseller_id, kind, status)

SEQUENCE order_counts_id_seq

TABLE order_history
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  order_id bigint NOT NULL
  at timestamp with time zone NOT NULL
  event text NOT NULL
  status text NOT NULL
  phase text
  note text
  CONSTRAINT order_history_pkey PRIMARY KEY (order_id, id)

SEQUENCE order_history_id_seq

TABLE orders
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  order_code text NOT NULL
  reseller_id bigint NOT NULL
  domain_name text COLLATE "C" NOT NULL
  suffix text
  registry_id text NOT NULL
  kind text NOT NULL
  input jsonb NOT NULL
  found jsonb NOT NULL DEFAULT '{}'::jsonb
  secret_sealed bytea
  is_urgent boolean NOT NULL
  renewal_id bigint
  lane text NOT NULL GENERATED ALWAYS AS 
CASE
    WHEN (kind = 'create'::text) THEN 'registration'::text
    WHEN (renewal_id IS NOT NULL) THEN 'schedule'::text
    WHEN is_urgent THEN 'urgent'::text
    ELSE 'value'::text
END
  status text NOT NULL
  phase text
  verify_cause text
  confirm_after timestamp with time zone
  backoff_count integer NOT NULL DEFAULT 0
  disputes integer NOT NULL DEFAULT 0
  waiting_since timestamp with time zone
  next_step_at timestamp with time zone
  reason text
  operator_note text
  cancel_requested_at timestamp with time zone
  settle_as text
  settle_note text
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  ended_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  traceparent text
  CONSTRAINT orders_check CHECK (((status = 'Processing'::text) = (phase IS NOT NULL)))
  CONSTRAINT orders_check1 CHECK ((COALESCE((phase = 'verify'::text), false) = (verify_cause IS NOT NULL)))
  CONSTRAINT orders_check2 CHECK (((status = ANY (ARRAY['Errors'::text, 'Finished'::text, 'FailedValidation'::text, 'Cancelled'::text])) = (ended_at IS NOT NULL)))
  CONSTRAINT orders_check3 CHECK (((kind = 'create'::text) = (suffix IS NOT NULL)))
  CONSTRAINT orders_order_code_key UNIQUE (order_code)
  CONSTRAINT orders_phase_check CHECK ((phase = ANY (ARRAY['send'::text, 'verify'::text])))
  CONSTRAINT orders_pkey PRIMARY KEY (id)
  CONSTRAINT orders_renewal_id_fkey FOREIGN KEY (renewal_id) REFERENCES renewals(id)
  CONSTRAINT orders_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CONSTRAINT orders_settle_as_check CHECK ((settle_as = ANY (ARRAY['done'::text, 'failed'::text, 'failed-forced'::text])))
  CONSTRAINT orders_status_check CHECK ((status = ANY (ARRAY['NotProvisioned'::text, 'Processing'::text, 'Pending'::text, 'Errors'::text, 'Finished'::text, 'FailedValidation'::text, 'Cancelled'::text])))
  CONSTRAINT orders_verify_cause_check CHECK ((verify_cause = ANY (ARRAY['answered'::text, 'lost'::text])))
  CREATE INDEX orders_ended ON public.orders USING btree (registry_id, ended_at) WHERE (ended_at IS NOT NULL)
  CREATE INDEX orders_finished_kind ON public.orders USING btree (kind, ended_at DESC) WHERE ((status = 'Finished'::text) AND (renewal_id IS NULL) AND (kind <> 'create'::text))
  CREATE INDEX orders_finished_suffix ON public.orders USING btree (suffix, ended_at DESC) WHERE ((status = 'Finished'::text) AND (kind = 'create'::text))
  CREATE INDEX orders_list ON public.orders USING btree (reseller_id, kind, status, created_at, order_code)
  CREATE INDEX orders_live_name ON public.orders USING btree (domain_name, id) WHERE ((ended_at IS NULL) AND (kind <> 'create'::text))
  CREATE INDEX orders_live_reseller ON public.orders USING btree (reseller_id) WHERE ((ended_at IS NULL) AND (kind <> 'create'::text))
  CREATE INDEX orders_name ON public.orders USING btree (domain_name, id)
  CREATE INDEX orders_renewal ON public.orders USING btree (renewal_id, id) WHERE (renewal_id IS NOT NULL)
  CREATE INDEX orders_step ON public.orders USING btree (registry_id, lane, next_step_at) WHERE (ended_at IS NULL)
  CREATE INDEX orders_turn ON public.orders USING btree (registry_id, reseller_id, next_step_at) WHERE ((ended_at IS NULL) AND (lane = 'value'::text))
  CREATE UNIQUE INDEX orders_live_create ON public.orders USING btree (domain_name) WHERE ((kind = 'create'::text) AND (ended_at IS NULL))
  CREATE UNIQUE INDEX orders_live_paid ON public.orders USING btree (domain_name) WHERE ((ended_at IS NULL) AND (kind = ANY (ARRAY['renew'::text, 'restore'::text])))
  CREATE UNIQUE INDEX orders_live_renewal ON public.orders USING btree (renewal_id) WHERE ((renewal_id IS NOT NULL) AND (ended_at IS NULL))
  CREATE TRIGGER ended_order_copied AFTER INSERT ON public.orders FOR EACH ROW WHEN ((new.ended_at IS NOT NULL)) EXECUTE FUNCTION ended_order_copied()
  CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON public.orders FOR EACH ROW EXECUTE FUNCTION live_row()
  CREATE TRIGGER order_ended AFTER UPDATE ON public.orders REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION orders_ended()
  CREATE TRIGGER secret_erased BEFORE INSERT OR UPDATE ON public.orders FOR EACH ROW WHEN (((new.ended_at IS NOT NULL) AND (new.secret_sealed IS NOT NULL))) EXECUTE FUNCTION erase_secret()
  CREATE TRIGGER zone_of_order AFTER INSERT ON public.orders FOR EACH ROW WHEN ((new.kind = 'nameservers'::text)) EXECUTE FUNCTION zone_of_order()

SEQUENCE orders_id_seq

TABLE paid_orders WITH (fillfactor=50)
  reseller_id bigint NOT NULL
  day date NOT NULL
  placed integer NOT NULL
  CONSTRAINT paid_orders_pkey PRIMARY KEY (reseller_id)
  CONSTRAINT paid_orders_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)

TABLE poll_messages
  registry_id text NOT NULL
  message_id text NOT NULL
  received_at timestamp with time zone NOT NULL
  order_id bigint
  needs_operator boolean NOT NULL
  payload text NOT NULL
  done_at timestamp with time zone
  done_note text
  kind text
  outcome text
  domain_name text COLLATE "C"
  message_text text
  CONSTRAINT poll_messages_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders(id)
  CONSTRAINT poll_messages_pkey PRIMARY KEY (registry_id, message_id)
  CREATE INDEX poll_messages_open ON public.poll_messages USING btree (registry_id, received_at) WHERE (needs_operator AND (done_at IS NULL))
  CREATE INDEX poll_messages_received ON public.poll_messages USING btree (received_at, registry_id, message_id)
  CREATE INDEX poll_messages_waiting ON public.poll_messages USING btree (received_at, registry_id, message_id) WHERE (needs_operator AND (done_at IS NULL))

TABLE processes WITH (fillfactor=50)
  host text NOT NULL
  role text NOT NULL
  pid integer NOT NULL
  release text NOT NULL
  started_at timestamp with time zone NOT NULL
  seen_at timestamp with time zone NOT NULL
  CONSTRAINT processes_pkey PRIMARY KEY (host, role, pid)

TABLE registries
  id text NOT NULL
  circuit_open_until timestamp with time zone
  creates_paused_reason text
  updated_at timestamp with time zone NOT NULL
  maintenance_from timestamp with time zone
  maintenance_until timestamp with time zone
  probe_id text
  probe_failure text
  away_since timestamp with time zone
  CONSTRAINT registries_check CHECK ((maintenance_from < maintenance_until))
  CONSTRAINT registries_pkey PRIMARY KEY (id)

TABLE registry_contacts
  registry_id text NOT NULL
  contact_id text NOT NULL
  created_at timestamp with time zone NOT NULL
  reseller_id bigint
  data_digest text
  look_at timestamp with time zone
  unused_since timestamp with time zone
  delete_cl_trid text
  delete_epoch bigint
  role text NOT NULL DEFAULT ''::text
  CONSTRAINT registry_contacts_check CHECK (((delete_cl_trid IS NULL) = (delete_epoch IS NULL)))
  CONSTRAINT registry_contacts_pkey PRIMARY KEY (registry_id, contact_id)
  CONSTRAINT registry_contacts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX registry_contacts_digest ON public.registry_contacts USING btree (reseller_id, data_digest)
  CREATE INDEX registry_contacts_look ON public.registry_contacts USING btree (registry_id, look_at NULLS FIRST)
  CREATE INDEX registry_contacts_marked ON public.registry_contacts USING btree (registry_id, look_at) WHERE (delete_cl_trid IS NOT NULL)
  CREATE UNIQUE INDEX registry_contacts_data ON public.registry_contacts USING btree (registry_id, reseller_id, data_digest, role)

TABLE registry_leases WITH (fillfactor=50)
  registry_id text NOT NULL
  epoch bigint NOT NULL
  holder text NOT NULL
  since timestamp with time zone NOT NULL
  expires_at timestamp with time zone NOT NULL
  lock_pid integer NOT NULL
  lock_started_at timestamp with time zone NOT NULL
  yielded_at timestamp with time zone
  yielded_to integer
  timeline text
  CONSTRAINT registry_leases_pkey PRIMARY KEY (registry_id)

TABLE renewal_history
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  renewal_id bigint NOT NULL
  at timestamp with time zone NOT NULL
  event text NOT NULL
  status text NOT NULL
  phase text
  note text
  CONSTRAINT renewal_history_pkey PRIMARY KEY (id)
  CONSTRAINT renewal_history_renewal_id_fkey FOREIGN KEY (renewal_id) REFERENCES renewals(id)
  CREATE INDEX renewal_history_renewal ON public.renewal_history USING btree (renewal_id, id)
  CREATE TRIGGER told AFTER INSERT ON public.renewal_history REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION renewal_history_told()

SEQUENCE renewal_history_id_seq

TABLE renewals
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  renewal_code text NOT NULL
  reseller_id bigint NOT NULL
  domain_name text COLLATE "C" NOT NULL
  registry_id text NOT NULL
  period_years integer NOT NULL
  term_ends_at timestamp with time zone NOT NULL
  due_at timestamp with time zone NOT NULL
  renewed_until timestamp with time zone
  status text NOT NULL
  phase text
  backoff_count integer NOT NULL DEFAULT 0
  next_step_at timestamp with time zone NOT NULL
  alarm_at timestamp with time zone
  reason text
  list_key text COLLATE "C" NOT NULL
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  ended_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  CONSTRAINT renewals_check CHECK (((status = ANY (ARRAY['Processing'::text, 'Lapsing'::text])) = (phase IS NOT NULL)))
  CONSTRAINT renewals_check1 CHECK (((status = ANY (ARRAY['Renewed'::text, 'Ended'::text])) = (ended_at IS NOT NULL)))
  CONSTRAINT renewals_phase_check CHECK ((phase = ANY (ARRAY['renew'::text, 'wait'::text, 'delete'::text])))
  CONSTRAINT renewals_pkey PRIMARY KEY (id)
  CONSTRAINT renewals_renewal_code_key UNIQUE (renewal_code)
  CONSTRAINT renewals_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CONSTRAINT renewals_status_check CHECK ((status = ANY (ARRAY['Scheduled'::text, 'Processing'::text, 'Attention'::text, 'Lapsing'::text, 'Renewed'::text, 'Ended'::text])))
  CREATE INDEX renewals_alarm ON public.renewals USING btree (registry_id, alarm_at) WHERE (ended_at IS NULL)
  CREATE INDEX renewals_begun ON public.renewals USING btree (reseller_id, created_at, renewal_code) INCLUDE (status, phase) WHERE (status = ANY (ARRAY['Processing'::text, 'Attention'::text, 'Lapsing'::text]))
  CREATE INDEX renewals_ended ON public.renewals USING btree (reseller_id, status, created_at, renewal_code) WHERE (ended_at IS NOT NULL)
  CREATE INDEX renewals_list_status ON public.renewals USING btree (reseller_id, status, list_key)
  CREATE INDEX renewals_name ON public.renewals USING btree (domain_name, id)
  CREATE INDEX renewals_step ON public.renewals USING btree (registry_id, next_step_at) WHERE (ended_at IS NULL)
  CREATE INDEX renewals_step_begun ON public.renewals USING btree (registry_id, next_step_at) WHERE ((ended_at IS NULL) AND (NOT ((status = 'Scheduled'::text) OR (NOT (phase IS DISTINCT FROM 'wait'::text)))))
  CREATE UNIQUE INDEX renewals_list ON public.renewals USING btree (reseller_id, list_key)
  CREATE UNIQUE INDEX renewals_live_name ON public.renewals USING btree (domain_name) WHERE (ended_at IS NULL)
  CREATE TRIGGER list_deleted AFTER DELETE ON public.renewals REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed()
  CREATE TRIGGER list_inserted AFTER INSERT ON public.renewals REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed()
  CREATE TRIGGER list_updated AFTER UPDATE ON public.renewals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION renewals_changed()
  CREATE TRIGGER live_row BEFORE INSERT OR UPDATE ON public.renewals FOR EACH ROW EXECUTE FUNCTION live_row()

SEQUENCE renewals_id_seq

TABLE replay_journals
  started_at timestamp with time zone NOT NULL

TABLE reseller_profiles
  reseller_id bigint NOT NULL
  full_name text NOT NULL
  organisation text
  email text NOT NULL
  phone text NOT NULL
  street text NOT NULL
  city text NOT NULL
  state_or_province text
  postal_code text NOT NULL
  country_code text NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT reseller_profiles_country_code_check CHECK ((country_code ~ '^[A-Z]{2}$'::text))
  CONSTRAINT reseller_profiles_pkey PRIMARY KEY (reseller_id)
  CONSTRAINT reseller_profiles_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)

TABLE resellers
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  name text NOT NULL
  kind text NOT NULL
  rate_limit integer NOT NULL
  hosting_accounts_max integer NOT NULL
  hosting_bytes_max bigint NOT NULL
  created_at timestamp with time zone NOT NULL
  paid_orders_day_max integer NOT NULL DEFAULT 1000
  CONSTRAINT resellers_kind_check CHECK ((kind = ANY (ARRAY['reseller'::text, 'plain'::text])))
  CONSTRAINT resellers_name_key UNIQUE (name)
  CONSTRAINT resellers_paid_orders_day_max_check CHECK ((paid_orders_day_max >= 0))
  CONSTRAINT resellers_pkey PRIMARY KEY (id)
  CONSTRAINT resellers_rate_limit_check CHECK ((rate_limit > 0))
  CREATE TRIGGER reseller_keys_changed AFTER UPDATE ON public.resellers FOR EACH ROW EXECUTE FUNCTION notify_reseller_keys_changed()
  CREATE TRIGGER reseller_paid_orders AFTER INSERT ON public.resellers FOR EACH ROW EXECUTE FUNCTION begin_paid_orders()

SEQUENCE resellers_id_seq

TABLE seen_auth_codes
  domain_name text COLLATE "C" NOT NULL
  mac bytea NOT NULL
  CONSTRAINT seen_auth_codes_domain_name_fkey FOREIGN KEY (domain_name) REFERENCES domains(domain_name) ON DELETE CASCADE
  CONSTRAINT seen_auth_codes_pkey PRIMARY KEY (domain_name)

SEQUENCE service_pack_id

TABLE service_packs
  id bigint NOT NULL DEFAULT nextval('service_pack_id'::regclass)
  name text NOT NULL
  disk_quota_bytes bigint NOT NULL
  files_max integer NOT NULL
  ftp_sessions_max integer NOT NULL
  offered_to bigint[]
  retired_at timestamp with time zone
  created_at timestamp with time zone NOT NULL
  version integer NOT NULL DEFAULT 1
  traffic_bytes_month bigint NOT NULL DEFAULT 0
  host_names_max integer NOT NULL DEFAULT 10
  features text[] NOT NULL DEFAULT '{ftp}'::text[]
  node_tags text[] NOT NULL DEFAULT '{}'::text[]
  CONSTRAINT service_packs_disk_quota_bytes_check CHECK ((disk_quota_bytes > 0))
  CONSTRAINT service_packs_files_max_check CHECK ((files_max > 0))
  CONSTRAINT service_packs_ftp_sessions_max_check CHECK ((ftp_sessions_max > 0))
  CONSTRAINT service_packs_host_names_max_check CHECK ((host_names_max >= 0))
  CONSTRAINT service_packs_pkey PRIMARY KEY (id, version)
  CONSTRAINT service_packs_traffic_bytes_month_check CHECK ((traffic_bytes_month >= 0))
  CONSTRAINT service_packs_version_check CHECK ((version > 0))
  CREATE UNIQUE INDEX service_packs_on_offer ON public.service_packs USING btree (id) WHERE (retired_at IS NULL)

TABLE used_nonces PARTITION BY LIST (part)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_0 FOR VALUES IN (0)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_0_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_1 FOR VALUES IN (1)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_1_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_2 FOR VALUES IN (2)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_2_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_3 FOR VALUES IN (3)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_3_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_4 FOR VALUES IN (4)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_4_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_5 FOR VALUES IN (5)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_5_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_6 FOR VALUES IN (6)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_6_pkey PRIMARY KEY (digest, part)

TABLE used_nonces_7 FOR VALUES IN (7)
  digest bytea NOT NULL
  part integer NOT NULL
  signed_at bigint NOT NULL
  CONSTRAINT used_nonces_7_pkey PRIMARY KEY (digest, part)

TABLE webhook_deliveries
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  webhook_id bigint NOT NULL
  event_id text NOT NULL
  type text NOT NULL
  body jsonb NOT NULL
  created_at timestamp with time zone NOT NULL
  status text NOT NULL DEFAULT 'Pending'::text
  attempts integer NOT NULL DEFAULT 0
  next_at timestamp with time zone NOT NULL
  ends_at timestamp with time zone NOT NULL
  attempted_at timestamp with time zone
  duration_ms integer
  answer_status integer
  answer_text text
  error_text text
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id)
  CONSTRAINT webhook_deliveries_status_check CHECK ((status = ANY (ARRAY['Pending'::text, 'Delivered'::text, 'Failed'::text])))
  CONSTRAINT webhook_deliveries_webhook_id_event_id_key UNIQUE (webhook_id, event_id)
  CONSTRAINT webhook_deliveries_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE
  CREATE INDEX webhook_deliveries_age ON public.webhook_deliveries USING btree (created_at)
  CREATE INDEX webhook_deliveries_answers ON public.webhook_deliveries USING btree (webhook_id, attempted_at, id) WHERE (answer_text IS NOT NULL)
  CREATE INDEX webhook_deliveries_due ON public.webhook_deliveries USING btree (webhook_id, next_at) WHERE (status = 'Pending'::text)
  CREATE INDEX webhook_deliveries_list ON public.webhook_deliveries USING btree (webhook_id, created_at, event_id)
  CREATE INDEX webhook_deliveries_tests ON public.webhook_deliveries USING btree (webhook_id, id) WHERE (type = 'webhook.test'::text)

SEQUENCE webhook_deliveries_id_seq

TABLE webhook_hosts
  reseller_id bigint NOT NULL
  host text NOT NULL
  spent_until timestamp with time zone NOT NULL
  answers integer NOT NULL DEFAULT 1
  CONSTRAINT webhook_hosts_pkey PRIMARY KEY (reseller_id, host)
  CONSTRAINT webhook_hosts_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CREATE INDEX webhook_hosts_age ON public.webhook_hosts USING btree (spent_until)

TABLE webhooks
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  webhook_code text NOT NULL
  reseller_id bigint NOT NULL
  url text NOT NULL
  description text NOT NULL
  types text[]
  scopes text[] NOT NULL
  secret_sealed bytea NOT NULL
  previous_secret_sealed bytea
  previous_until timestamp with time zone
  is_enabled boolean NOT NULL DEFAULT true
  disabled_reason text
  failing_since timestamp with time zone
  failure_count integer NOT NULL DEFAULT 0
  era integer NOT NULL
  transaction xid8 NOT NULL
  number bigint NOT NULL
  begun pg_snapshot DEFAULT pg_current_snapshot()
  created_at timestamp with time zone NOT NULL
  next_step_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  unchecked integer NOT NULL DEFAULT 0
  paused_until timestamp with time zone
  verified_at timestamp with time zone
  CONSTRAINT webhooks_check CHECK (((previous_secret_sealed IS NULL) = (previous_until IS NULL)))
  CONSTRAINT webhooks_check1 CHECK ((is_enabled OR (next_step_at IS NULL)))
  CONSTRAINT webhooks_pkey PRIMARY KEY (id)
  CONSTRAINT webhooks_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CONSTRAINT webhooks_webhook_code_key UNIQUE (webhook_code)
  CREATE INDEX webhooks_reseller ON public.webhooks USING btree (reseller_id, id)
  CREATE INDEX webhooks_step ON public.webhooks USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE TRIGGER count_version BEFORE UPDATE ON public.webhooks FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.webhooks FOR EACH ROW WHEN ((new.next_step_at IS NOT NULL)) EXECUTE FUNCTION row_is_due('webhooks')
  CREATE TRIGGER row_is_due_to_try AFTER INSERT OR UPDATE OF next_step_at ON public.webhooks FOR EACH ROW WHEN (((new.next_step_at IS NOT NULL) AND ((new.verified_at IS NULL) OR (new.failing_since IS NOT NULL)))) EXECUTE FUNCTION row_is_due('webhooks-failing')

SEQUENCE webhooks_id_seq

TABLE workers
  worker text NOT NULL
  seen_at timestamp with time zone NOT NULL
  stopped_at timestamp with time zone
  doing text
  CONSTRAINT workers_pkey PRIMARY KEY (worker)

TABLE zone_changes
  zone_id bigint NOT NULL
  revision bigint NOT NULL
  serial bigint NOT NULL
  at timestamp with time zone NOT NULL
  by text
  door text NOT NULL
  added jsonb NOT NULL DEFAULT '[]'::jsonb
  removed jsonb NOT NULL DEFAULT '[]'::jsonb
  served_at timestamp with time zone
  CONSTRAINT zone_changes_pkey PRIMARY KEY (zone_id, revision)
  CONSTRAINT zone_changes_zone_id_fkey FOREIGN KEY (zone_id) REFERENCES zones(id) ON DELETE CASCADE
  CREATE INDEX zone_changes_age ON public.zone_changes USING btree (at)
  CREATE INDEX zone_changes_waiting ON public.zone_changes USING btree (zone_id, revision) WHERE (served_at IS NULL)

TABLE zone_sets
  zone_id bigint NOT NULL
  owner text COLLATE "C" NOT NULL
  type text COLLATE "C" NOT NULL
  source text COLLATE "C" NOT NULL DEFAULT 'user'::text
  ttl integer NOT NULL
  records text[] NOT NULL
  ids bigint[] NOT NULL
  updated_at timestamp with time zone NOT NULL
  CONSTRAINT zone_sets_check CHECK (((cardinality(records) > 0) AND (cardinality(records) = cardinality(ids))))
  CONSTRAINT zone_sets_pkey PRIMARY KEY (zone_id, owner, type, source)
  CONSTRAINT zone_sets_source_check CHECK ((source = ANY (ARRAY['user'::text, 'hosting'::text, 'service'::text])))
  CONSTRAINT zone_sets_zone_id_fkey FOREIGN KEY (zone_id) REFERENCES zones(id) ON DELETE CASCADE

TABLE zone_settings
  is_only boolean NOT NULL DEFAULT true
  name_servers text[] NOT NULL DEFAULT '{}'::text[]
  hostmaster text NOT NULL DEFAULT ''::text
  leaving_days integer NOT NULL DEFAULT 14
  are_applied boolean NOT NULL DEFAULT true
  CONSTRAINT zone_settings_is_only_check CHECK (is_only)
  CONSTRAINT zone_settings_pkey PRIMARY KEY (is_only)

TABLE zones
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
  label text NOT NULL
  domain_name text COLLATE "C" NOT NULL
  reseller_id bigint NOT NULL
  state text NOT NULL
  revision bigint NOT NULL
  serial bigint NOT NULL
  name_servers text[] NOT NULL
  hostmaster text NOT NULL
  last_record_id bigint NOT NULL DEFAULT 13
  record_count integer NOT NULL DEFAULT 0
  served_revision bigint NOT NULL DEFAULT 0
  served_at timestamp with time zone
  told_at timestamp with time zone
  shown jsonb NOT NULL DEFAULT '[]'::jsonb
  checks integer NOT NULL DEFAULT 0
  delegated_by text
  ends_at timestamp with time zone
  withdrawn_at timestamp with time zone
  created_at timestamp with time zone NOT NULL
  updated_at timestamp with time zone NOT NULL
  next_step_at timestamp with time zone
  version bigint NOT NULL DEFAULT 0
  CONSTRAINT zones_check CHECK (((state = 'Leaving'::text) = (ends_at IS NOT NULL)))
  CONSTRAINT zones_check1 CHECK (((state = 'Withdrawn'::text) = (withdrawn_at IS NOT NULL)))
  CONSTRAINT zones_label_check CHECK ((label ~ '^[0-9a-f]{32}$'::text))
  CONSTRAINT zones_label_key UNIQUE (label)
  CONSTRAINT zones_pkey PRIMARY KEY (id)
  CONSTRAINT zones_reseller_id_fkey FOREIGN KEY (reseller_id) REFERENCES resellers(id)
  CONSTRAINT zones_serial_check CHECK (((serial >= 0) AND (serial <= '4294967295'::bigint)))
  CONSTRAINT zones_state_check CHECK ((state = ANY (ARRAY['Publishing'::text, 'Active'::text, 'Leaving'::text, 'Withdrawn'::text])))
  CREATE INDEX zones_below ON public.zones USING btree (reverse(domain_name)) WHERE (state <> 'Withdrawn'::text)
  CREATE INDEX zones_name ON public.zones USING btree (domain_name, id)
  CREATE INDEX zones_next_step ON public.zones USING btree (next_step_at) WHERE (next_step_at IS NOT NULL)
  CREATE INDEX zones_withdrawn ON public.zones USING btree (withdrawn_at) WHERE ((withdrawn_at IS NOT NULL) AND (record_count > 0))
  CREATE UNIQUE INDEX zones_live ON public.zones USING btree (domain_name) WHERE (state <> 'Withdrawn'::text)
  CREATE TRIGGER count_version BEFORE UPDATE OF state, revision, serial, name_servers, hostmaster, checks, delegated_by, ends_at, next_step_at ON public.zones FOR EACH ROW EXECUTE FUNCTION count_version()
  CREATE TRIGGER row_is_due AFTER INSERT OR UPDATE OF next_step_at ON public.zones FOR EACH ROW WHEN ((new.next_step_at <= GREATEST((clock_timestamp() + '00:00:01'::interval), new.updated_at))) EXECUTE FUNCTION row_is_due('zones')
  CREATE TRIGGER told AFTER INSERT OR UPDATE ON public.zones FOR EACH ROW EXECUTE FUNCTION zone_told()

SEQUENCE zones_id_seq

CREATE OR REPLACE FUNCTION public.alarm_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO alarm_messages (channel, alarm_id, what, created_at)
  SELECT name, NEW.id, CASE WHEN NEW.resolved_at IS NULL THEN 'opened' ELSE 'resolved' END, coalesce(NEW.resolved_at, NEW.since)
  FROM alarm_channels WHERE NEW.kind <> 'alarm-channel' OR NEW.subject <> name
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM notify_after_commit('alarm_message', '');
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.await_domains_of(host_name text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  name text;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), 0);
  FOR name IN SELECT above FROM unnest(names_at_and_above(host_name)) AS above ORDER BY above LOOP
    PERFORM pg_advisory_xact_lock_shared(hashtext('domain names'), hashtext(name));
  END LOOP;
END $function$


CREATE OR REPLACE FUNCTION public.begin_paid_orders()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO paid_orders (reseller_id, day, placed) VALUES (NEW.id, (NEW.created_at AT TIME ZONE 'UTC')::date, 0);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.count_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $function$


CREATE OR REPLACE FUNCTION public.delegation_is_ours(delegation jsonb)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  SELECT EXISTS (SELECT FROM zone_settings AS settings CROSS JOIN LATERAL jsonb_array_elements(delegation) AS server
    WHERE lower(server ->> 'name') = ANY (settings.name_servers))
$function$


CREATE OR REPLACE FUNCTION public.departures_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), reseller_id, ended_at, 'domain.left', domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', domain_name, 'reason', reason, 'gaining_registrar', gaining_registrar,
      'restorable_until', iso_time(restorable_until)))
  FROM new_rows ORDER BY id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.domain_history_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), row.reseller_id, row.at, told.type, row.domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', row.domain_name, 'expiration_date', iso_time(name.expiration_date),
      'will_renew', CASE WHEN told.type = 'domain.will_renew_changed' THEN name.will_renew END,
      'text', CASE WHEN told.type IN ('domain.changed', 'domain.notice') THEN row.note END))
  FROM new_rows AS row
  JOIN (VALUES ('renewed', 'domain.renewed'), ('restored', 'domain.restored'), ('adopted', 'domain.added'),
    ('will-renew-on', 'domain.will_renew_changed'), ('will-renew-off', 'domain.will_renew_changed'),
    ('changed-at-registry', 'domain.changed'), ('registry-change', 'domain.notice'), ('registry-notice', 'domain.notice'))
    AS told (event, type) ON told.event = row.event
  LEFT JOIN domains AS name ON name.domain_name = row.domain_name
  WHERE row.reseller_id IS NOT NULL
  ORDER BY row.id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.ended_order_copied()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (NEW.reseller_id, NEW.kind, NEW.status, 1);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.erase_secret()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.secret_sealed := NULL;
  RETURN NEW;
END $function$


CREATE OR REPLACE FUNCTION public.events_written()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM notify_after_commit('events', reseller_id::text) FROM (SELECT DISTINCT reseller_id FROM new_rows) AS reseller;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.hold_identifier(identifier text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT above FROM unnest(names_at_and_above(identifier)) AS above ORDER BY length(above) LOOP
    IF name = identifier THEN
      PERFORM pg_advisory_xact_lock(hashtext('hosting identifiers'), hashtext(name));
    ELSE
      PERFORM pg_advisory_xact_lock_shared(hashtext('hosting identifiers'), hashtext(name));
    END IF;
  END LOOP;
END $function$


CREATE OR REPLACE FUNCTION public.host_names_follow(names text[], resellers bigint[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  ids bigint[];
BEGIN
  -- PostgreSQL has room for a few thousand locks: of many names all are held as one.
  IF cardinality(names) > 64 THEN
    PERFORM pg_advisory_xact_lock(hashtext('domain names'), 0);
  ELSE
    PERFORM pg_advisory_xact_lock(hashtext('domain names'), hashtext(name))
      FROM (SELECT unnest(names) AS name ORDER BY 1) AS held;
  END IF;
  INSERT INTO host_names (account_id, host_name, status, created_at)
    SELECT account.id, account.identifier, 'Waiting', now()
    FROM unnest(names, resellers) AS domain(name, reseller_id)
    JOIN hosting_accounts AS account ON account.status NOT IN ('Failed', 'Removed')
      AND reverse(account.identifier) COLLATE "C" >= reverse(domain.name)
      AND reverse(account.identifier) COLLATE "C" < reverse(domain.name) || '/'
    WHERE account.reseller_id IS NOT DISTINCT FROM domain.reseller_id AND (account.identifier = domain.name
      OR reverse(account.identifier) COLLATE "C" > reverse(domain.name) || '.')
    ON CONFLICT DO NOTHING;
  SELECT array_agg(id ORDER BY id) INTO ids FROM (
    SELECT DISTINCT host.id
    FROM unnest(names) AS domain(name)
    JOIN host_names AS host ON reverse(host.host_name) COLLATE "C" >= reverse(domain.name)
      AND reverse(host.host_name) COLLATE "C" < reverse(domain.name) || '/'
    WHERE host.host_name = domain.name OR reverse(host.host_name) COLLATE "C" > reverse(domain.name) || '.') AS found;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
END $function$


CREATE OR REPLACE FUNCTION public.host_names_look(ids bigint[])
 RETURNS void
 LANGUAGE sql
AS $function$
  -- Sorted, so that two transactions cannot wait for each other.
  UPDATE host_names SET next_step_at = now() FROM (
    SELECT id FROM host_names WHERE id = ANY (ids) ORDER BY id FOR NO KEY UPDATE) AS found
  WHERE host_names.id = found.id
$function$


CREATE OR REPLACE FUNCTION public.host_names_of_domain()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM host_names_follow(ARRAY[OLD.domain_name], ARRAY[NULL::bigint]);
  ELSE
    PERFORM host_names_follow(ARRAY[NEW.domain_name], ARRAY[NEW.reseller_id]);
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.host_names_of_ended_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM FROM host_names WHERE account_id = NEW.id ORDER BY id FOR UPDATE;
  DELETE FROM host_names WHERE account_id = NEW.id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.host_names_of_new_account()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  ids bigint[];
BEGIN
  WITH named AS (
    INSERT INTO host_names (account_id, host_name, status, created_at)
      SELECT NEW.id, NEW.identifier, 'Waiting', NEW.created_at
      WHERE EXISTS (SELECT FROM domains
        WHERE domain_name = ANY (names_at_and_above(NEW.identifier)) AND reseller_id = NEW.reseller_id)
      RETURNING id)
  SELECT array_agg(id) INTO ids FROM named;
  IF ids IS NOT NULL THEN
    PERFORM host_names_look(ids);
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.host_names_of_new_domains()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM host_names_follow(array_agg(domain_name), array_agg(reseller_id)) FROM new_rows;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.hosting_account_has_work()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.applied_version < NEW.wanted_version AND NEW.status NOT IN ('Failed', 'Removed') THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $function$


CREATE OR REPLACE FUNCTION public.hosting_history_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), account.reseller_id, row.at, told.type, account.identifier,
    jsonb_strip_nulls(jsonb_build_object('identifier', account.identifier, 'status', row.status,
      'error_text', CASE WHEN told.type = 'hosting.failed' THEN account.error_text END))
  FROM new_rows AS row
  JOIN (VALUES ('probed', 'hosting.ready'), ('refused', 'hosting.failed'), ('applied', 'hosting.changed'),
    ('suspended', 'hosting.suspended'), ('resumed', 'hosting.resumed'), ('removed', 'hosting.removed'))
    AS told (event, type) ON told.event = row.event
  JOIN hosting_accounts AS account ON account.id = row.account_id
  -- What is left of an account that failed is also removed.
  WHERE told.event <> 'removed' OR NOT EXISTS (
    SELECT FROM hosting_history AS earlier WHERE earlier.account_id = row.account_id AND earlier.event = 'refused')
  ORDER BY row.id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.hosting_move_has_work()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.next_step_at IS NULL AND NEW.ended_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $function$


CREATE OR REPLACE FUNCTION public.hosting_move_look()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE hosting_moves SET next_step_at = NEW.updated_at WHERE account_id = NEW.id AND ended_at IS NULL
    AND (state IN ('Freezing', 'Leaving') OR OLD.removal_requested_at IS DISTINCT FROM NEW.removal_requested_at);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.is_contact_of_name(registry text, contact text, moment timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
 STABLE COST 10000
 SET enable_bitmapscan TO 'on'
 SET enable_indexscan TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
  SELECT EXISTS (SELECT FROM domains WHERE registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
    OR EXISTS (SELECT FROM domains_ended WHERE restorable_until > moment AND registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
$function$


CREATE OR REPLACE FUNCTION public.iso_time(moment timestamp with time zone)
 RETURNS text
 LANGUAGE sql
 STABLE
RETURN to_char((moment AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text)


CREATE OR REPLACE FUNCTION public.list_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  added text := format('SELECT reseller_id, %I AS name, 1 AS change FROM new_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  removed text := format('SELECT reseller_id, %I AS name, -1 AS change FROM old_rows WHERE %s', TG_ARGV[1], TG_ARGV[2]);
  changes text := format(
    'SELECT reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  resellers bigint[];
  names text[];
  sums integer[];
BEGIN
  EXECUTE format('SELECT array_agg(reseller_id), array_agg(name), array_agg(change)
    FROM (%s ORDER BY 1, 2 LIMIT 1001) AS changes', changes) INTO resellers, names, sums;
  IF cardinality(names) > 1000 THEN
    EXECUTE format('SELECT array_agg(DISTINCT reseller_id) FROM (%s) AS changes', changes) INTO resellers;
    PERFORM list_chunks_rebuild(TG_ARGV[0], reseller) FROM unnest(resellers) AS reseller;
  ELSE
    PERFORM list_count(TG_ARGV[0], resellers, names, sums);
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.list_chunk_lock(list_ text, reseller bigint, name_ text)
 RETURNS text
 LANGUAGE plpgsql
AS $function$
DECLARE
  wanted text;
  held text;
BEGIN
  LOOP
    SELECT first_name INTO wanted FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1 FOR UPDATE;
    IF wanted IS NULL THEN
      INSERT INTO list_chunks VALUES (list_, reseller, '', 0) ON CONFLICT DO NOTHING;
      CONTINUE;
    END IF;
    SELECT first_name INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name <= name_ COLLATE "C"
      ORDER BY first_name DESC LIMIT 1;
    IF held = wanted THEN
      RETURN wanted;
    END IF;
  END LOOP;
END $function$


CREATE OR REPLACE FUNCTION public.list_chunk_split(list_ text, reseller bigint, name_ text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  chunk text := list_chunk_lock(list_, reseller, name_);
  held integer;
  middle text;
BEGIN
  LOOP
    SELECT row_count INTO held FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    EXIT WHEN held <= 1000;
    SELECT name INTO middle FROM listed_names
      WHERE list = list_ AND reseller_id = reseller AND name >= chunk COLLATE "C" ORDER BY name OFFSET 500 LIMIT 1;
    UPDATE list_chunks SET row_count = 500
      WHERE list = list_ AND reseller_id = reseller AND first_name = chunk COLLATE "C";
    INSERT INTO list_chunks VALUES (list_, reseller, middle, held - 500);
    chunk := middle;
  END LOOP;
END $function$


CREATE OR REPLACE FUNCTION public.list_chunks_rebuild(list_ text, reseller bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  LOCK TABLE list_chunks IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM list_chunks WHERE list = list_ AND reseller_id = reseller;
  INSERT INTO list_chunks
    SELECT list_, reseller, CASE WHEN chunk = 0 THEN '' ELSE min(name) END, count(*)
    FROM (SELECT name, (row_number() OVER (ORDER BY name) - 1) / 700 AS chunk
          FROM listed_names WHERE list = list_ AND reseller_id = reseller) AS numbered
    GROUP BY chunk;
END $function$


CREATE OR REPLACE FUNCTION public.list_count(list_ text, resellers bigint[], names text[], changes integer[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  count integer := cardinality(names);
  place integer := 1;
  reseller bigint;
  chunk text;
  next_chunk text;
  sum integer;
  held integer;
  touched_resellers bigint[] := '{}';
  touched_chunks text[] := '{}';
  touched_sums integer[] := '{}';
BEGIN
  WHILE place <= count LOOP
    reseller := resellers[place];
    chunk := list_chunk_lock(list_, reseller, names[place]);
    SELECT first_name INTO next_chunk FROM list_chunks
      WHERE list = list_ AND reseller_id = reseller AND first_name > chunk COLLATE "C"
      ORDER BY first_name LIMIT 1;
    sum := 0;
    LOOP
      sum := sum + changes[place];
      place := place + 1;
      EXIT WHEN place > count OR resellers[place] <> reseller OR names[place] >= next_chunk COLLATE "C";
    END LOOP;
    touched_resellers := touched_resellers || reseller;
    touched_chunks := touched_chunks || chunk;
    touched_sums := touched_sums || sum;
  END LOOP;
  FOR place IN 1 .. cardinality(touched_chunks) LOOP
    UPDATE list_chunks SET row_count = row_count + touched_sums[place]
      WHERE list = list_ AND reseller_id = touched_resellers[place] AND first_name = touched_chunks[place] COLLATE "C"
      RETURNING row_count INTO held;
    IF held > 1000 THEN
      PERFORM list_chunk_split(list_, touched_resellers[place], touched_chunks[place]);
    END IF;
  END LOOP;
END $function$


CREATE OR REPLACE FUNCTION public.list_new_domains()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  resellers bigint[];
  names text[];
BEGIN
  SELECT array_agg(reseller_id), array_agg(domain_name) INTO resellers, names
    FROM (SELECT reseller_id, domain_name FROM new_rows ORDER BY 1, 2 LIMIT 1001) AS added;
  IF cardinality(names) > 1000 THEN
    PERFORM list_chunks_rebuild('domains', reseller_id)
      FROM (SELECT DISTINCT reseller_id FROM new_rows ORDER BY 1) AS reseller;
  ELSE
    PERFORM list_count('domains', resellers, names, array_fill(1, ARRAY[coalesce(cardinality(names), 0)]));
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.live_row()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.version := OLD.version + 1;
  END IF;
  IF NEW.ended_at IS NULL AND NEW.next_step_at IS NULL THEN
    NEW.next_step_at := NEW.updated_at;
  END IF;
  RETURN NEW;
END $function$


CREATE OR REPLACE FUNCTION public.names_at_and_above(name text)
 RETURNS text[]
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT array_agg(array_to_string(labels[first:], '.'))
  FROM (SELECT string_to_array(name, '.') AS labels) AS split, generate_subscripts(labels, 1) AS first
$function$


CREATE OR REPLACE FUNCTION public.names_at_hosts(hosts text[])
 RETURNS SETOF text
 LANGUAGE sql
 STABLE ROWS 100
 SET enable_bitmapscan TO 'on'
 SET enable_indexscan TO 'off'
 SET enable_seqscan TO 'off'
AS $function$
  SELECT domain_name FROM domains WHERE delegation @> ANY (ARRAY(
    SELECT jsonb_build_array(jsonb_build_object('name', host)) FROM unnest(hosts) AS host))
$function$


CREATE OR REPLACE FUNCTION public.notify_after_commit(channel text, payload text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  entry text := E'\n' || channel || ' ' || payload || E'\n';
  asked text := coalesce(current_setting('deedhouse.notified', true), '');
BEGIN
  IF position(entry IN asked) = 0 THEN
    PERFORM set_config('deedhouse.notified', right(asked || entry, 1000), true);
    RAISE INFO USING MESSAGE = channel, DETAIL = payload, ERRCODE = 'DHNFY';
  END IF;
END $function$


CREATE OR REPLACE FUNCTION public.notify_api_key_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('api_key_changed', OLD.id::text);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.notify_hosting_node_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('hosting_node_changed', coalesce(NEW.id, OLD.id));
  RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.notify_reseller_keys_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_notify('api_key_changed', id) FROM api_keys WHERE reseller_id = NEW.id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.order_count_add(reseller bigint, kind_ text, status_ text, change bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  free bigint;
BEGIN
  SELECT id INTO free FROM order_counts WHERE reseller_id = reseller AND kind = kind_ AND status = status_
    LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF free IS NULL THEN
    INSERT INTO order_counts (reseller_id, kind, status, row_count) VALUES (reseller, kind_, status_, change);
  ELSE
    UPDATE order_counts SET row_count = row_count + change WHERE id = free;
  END IF;
END $function$


CREATE OR REPLACE FUNCTION public.order_error_code(status text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE status WHEN 'Errors'::text THEN 'order_failed'::text WHEN 'FailedValidation'::text THEN 'order_refused'::text WHEN 'Cancelled'::text THEN 'order_cancelled'::text ELSE NULL::text END


CREATE OR REPLACE FUNCTION public.order_error_text(status text, reason text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE WHEN (order_error_code(status) IS NOT NULL) THEN COALESCE(reason, 'It ended without a reason.'::text) ELSE NULL::text END


CREATE OR REPLACE FUNCTION public.order_event(code text, kind text, name text, status text, reason text)
 RETURNS jsonb
 LANGUAGE sql
 IMMUTABLE
RETURN (jsonb_build_object('order_code', code, 'kind', kind, 'domain_name', name, 'status', status) || CASE WHEN (order_error_code(status) IS NULL) THEN '{}'::jsonb ELSE jsonb_build_object('error_code', order_error_code(status), 'error_text', order_error_text(status, reason)) END)


CREATE OR REPLACE FUNCTION public.order_event_type(status text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
RETURN CASE status WHEN 'Finished'::text THEN 'order.finished'::text WHEN 'Cancelled'::text THEN 'order.cancelled'::text ELSE 'order.failed'::text END


CREATE OR REPLACE FUNCTION public.orders_ended()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, kind, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, kind, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, kind, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2, 3 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, ended.kind, ended.status, ended.change);
  END LOOP;
  -- Most statements end no order.
  IF FOUND THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT (SELECT era FROM event_log), row.reseller_id, row.ended_at, told.type, row.domain_name, told.data
    FROM new_rows AS row JOIN old_rows AS before ON before.id = row.id CROSS JOIN LATERAL (
      SELECT 'domain.registered' AS type, jsonb_build_object('domain_name', row.domain_name,
        'expiration_date', iso_time(name.expiration_date), 'order_code', row.order_code) AS data
      FROM domains AS name WHERE name.order_id = row.id AND row.kind = 'create' AND row.status = 'Finished'
      UNION ALL
      SELECT order_event_type(row.status), order_event(row.order_code, row.kind, row.domain_name, row.status, row.reason)) AS told
    WHERE row.ended_at IS NOT NULL AND before.ended_at IS NULL;
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.raise_hosting_uid(highest bigint)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
  ALTER SEQUENCE hosting_uid NO CYCLE;
  IF (SELECT last_value FROM hosting_uid) <= highest THEN
    EXECUTE format('ALTER SEQUENCE hosting_uid RESTART WITH %s', highest + 1);
  END IF;
END
$function$


CREATE OR REPLACE FUNCTION public.renewal_history_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), renewal.reseller_id, row.at, 'renewal.attention', renewal.domain_name,
    jsonb_build_object('domain_name', renewal.domain_name, 'expiration_date', iso_time(renewal.term_ends_at))
  FROM new_rows AS row JOIN renewals AS renewal ON renewal.id = row.renewal_id
  WHERE row.event = 'needs-operator'
  ORDER BY row.id;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.renewals_changed()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  added text := 'SELECT reseller_id, list, list_key AS name, 1 AS change
    FROM new_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  removed text := 'SELECT reseller_id, list, list_key AS name, -1 AS change
    FROM old_rows, LATERAL (VALUES (''renewals''), (''renewals/'' || status)) AS lists (list)';
  changes text := format(
    'SELECT list, reseller_id, name, sum(change)::integer AS change FROM (%s) AS changed
     GROUP BY 1, 2, 3 HAVING sum(change) <> 0',
    CASE TG_OP WHEN 'INSERT' THEN added WHEN 'DELETE' THEN removed ELSE added || ' UNION ALL ' || removed END);
  changes_count bigint;
  changed record;
  chunk text;
BEGIN
  EXECUTE format('SELECT count(*) FROM (%s) AS changes', changes) INTO changes_count;
  IF changes_count > 1000 THEN
    FOR changed IN EXECUTE format('SELECT DISTINCT list, reseller_id FROM (%s) AS changes ORDER BY 1, 2', changes) LOOP
      PERFORM list_chunks_rebuild(changed.list, changed.reseller_id);
    END LOOP;
    RETURN NULL;
  END IF;
  -- In one order for all, so that two transactions cannot wait for each other.
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    chunk := list_chunk_lock(changed.list, changed.reseller_id, changed.name);
    UPDATE list_chunks SET row_count = row_count + changed.change
      WHERE list = changed.list AND reseller_id = changed.reseller_id AND first_name = chunk COLLATE "C";
  END LOOP;
  FOR changed IN EXECUTE changes || ' ORDER BY 1, 2, 3' LOOP
    CONTINUE WHEN changed.change < 0;
    PERFORM list_chunk_split(changed.list, changed.reseller_id, changed.name);
  END LOOP;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.row_is_due()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM notify_after_commit('row_due', CASE TG_NARGS WHEN 1 THEN TG_ARGV[0]
    ELSE TG_ARGV[0] || ':' || (to_jsonb(NEW) ->> TG_ARGV[1]) END);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.transfer_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT era, NEW.reseller_id, clock_timestamp(),
    CASE WHEN NEW.transfer IS NULL THEN 'domain.transfer_ended' ELSE 'domain.transfer_requested' END, NEW.domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', NEW.domain_name, 'gaining_registrar', transfer ->> 'gaining_registrar',
      'requested_at', transfer ->> 'requested_at',
      'answer_by', CASE WHEN NEW.transfer IS NOT NULL THEN transfer ->> 'answer_by' END))
  FROM event_log, coalesce(NEW.transfer, OLD.transfer) AS transfer;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.use_nonce()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO used_nonces (digest, part, signed_at)
  SELECT substring(sha256(convert_to(NEW.key_id || ':' || NEW.nonce, 'UTF8')) FROM 1 FOR 16), part, NEW.signed_at
  FROM nonce_parts WHERE part = (NEW.signed_at / 900) % 8 AND range = NEW.signed_at / 900;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.zone_create(name text, reseller bigint, made_by text, made_at_door text, made_at timestamp with time zone)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
  made record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('zones'), hashtext(substring(name FROM '[^.]+\.[^.]+$')));
  INSERT INTO zones (label, domain_name, reseller_id, state, revision, serial, name_servers, hostmaster, created_at, updated_at, next_step_at)
    SELECT md5(gen_random_uuid()::text || gen_random_uuid()::text), name, reseller, 'Publishing',
      1 + coalesce((SELECT max(revision) FROM zones WHERE domain_name = name AND reseller_id = reseller), 0),
      zone_serial_after((SELECT serial FROM zones WHERE domain_name = name ORDER BY id DESC LIMIT 1), made_at),
      settings.name_servers, settings.hostmaster, made_at, made_at, made_at
    FROM zone_settings AS settings
    WHERE cardinality(settings.name_servers) > 0
      AND NOT EXISTS (SELECT FROM zones WHERE domain_name = ANY (names_at_and_above(name)) AND state <> 'Withdrawn')
      AND NOT EXISTS (SELECT FROM zones WHERE reverse(domain_name) COLLATE "C" > reverse(name) || '.'
        AND reverse(domain_name) COLLATE "C" < reverse(name) || '/' AND state <> 'Withdrawn')
    RETURNING id, revision, serial INTO made;
  IF made.id IS NOT NULL THEN
    INSERT INTO zone_changes (zone_id, revision, serial, at, by, door)
      VALUES (made.id, made.revision, made.serial, made_at, made_by, made_at_door);
  END IF;
  RETURN made.id;
END $function$


CREATE OR REPLACE FUNCTION public.zone_follows(name text, reseller bigint, delegation jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
DECLARE
  others bigint[];
BEGIN
  WITH gone AS (
    UPDATE zones SET state = 'Withdrawn', ends_at = NULL, withdrawn_at = now(), delegated_by = NULL, next_step_at = NULL, updated_at = now()
    WHERE domain_name = name AND reseller_id <> reseller AND state <> 'Withdrawn' RETURNING id)
  SELECT array_agg(zones.id) INTO others FROM zones WHERE domain_name = name AND reseller_id <> reseller;
  IF others IS NOT NULL THEN
    DELETE FROM zone_sets WHERE zone_id = ANY (others);
    DELETE FROM zone_changes WHERE zone_id = ANY (others);
    UPDATE zones SET record_count = 0 WHERE id = ANY (others) AND record_count > 0;
  END IF;
  UPDATE zones SET state = 'Publishing', ends_at = NULL, checks = 0, next_step_at = now(), updated_at = now()
    WHERE domain_name = name AND reseller_id = reseller AND state = 'Leaving';
  IF delegation_is_ours(delegation) THEN
    PERFORM zone_create(name, reseller, NULL, 'portfolio', now());
  END IF;
END $function$


CREATE OR REPLACE FUNCTION public.zone_of_order()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  IF delegation_is_ours(NEW.input -> 'name_servers') AND NOT EXISTS (
    SELECT FROM zones WHERE domain_name = NEW.domain_name AND state <> 'Withdrawn') THEN
    PERFORM zone_create(NEW.domain_name, NEW.reseller_id, NULL, 'order', NEW.created_at);
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.zone_of_other_holder()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM zone_follows(NEW.domain_name, NEW.reseller_id, NEW.delegation);
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.zone_serial_after(serial bigint, at timestamp with time zone)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE
AS $function$
  SELECT CASE WHEN serial IS NULL OR (now_is - serial + 4294967296) % 4294967296 BETWEEN 1 AND 2147483647 THEN now_is
    ELSE (serial + 1) % 4294967296 END
  FROM (SELECT floor(extract(epoch FROM at))::bigint % 4294967296) AS seconds (now_is)
$function$


CREATE OR REPLACE FUNCTION public.zone_told()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  told text;
BEGIN
  IF TG_OP = 'INSERT' OR (OLD.state = 'Withdrawn' AND NEW.state <> 'Withdrawn') THEN
    told := 'zone.created';
  ELSIF NEW.state <> OLD.state AND NEW.state IN ('Leaving', 'Withdrawn') THEN
    told := CASE NEW.state WHEN 'Leaving' THEN 'zone.leaving' ELSE 'zone.removed' END;
  ELSIF NEW.told_at IS DISTINCT FROM OLD.told_at THEN
    told := 'zone.served';
  END IF;
  IF told IS NOT NULL THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT era, NEW.reseller_id, NEW.updated_at, told, NEW.domain_name, jsonb_strip_nulls(jsonb_build_object(
      'domain_name', NEW.domain_name, 'state', NEW.state, 'serial', CASE told WHEN 'zone.served' THEN NEW.serial END,
      'until', iso_time(NEW.ends_at)))
    FROM event_log;
  END IF;
  IF TG_OP = 'UPDATE' AND (NEW.served_revision <> OLD.served_revision OR NEW.state <> OLD.state) THEN
    PERFORM notify_after_commit('zone_changed', NEW.domain_name);
  END IF;
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.zones_leave()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE zones SET state = CASE WHEN gone.until > gone.ended_at THEN 'Leaving' ELSE 'Withdrawn' END,
    ends_at = CASE WHEN gone.until > gone.ended_at THEN gone.until END,
    withdrawn_at = CASE WHEN gone.until > gone.ended_at THEN NULL ELSE gone.ended_at END,
    next_step_at = CASE WHEN gone.until > gone.ended_at THEN gone.until END,
    delegated_by = NULL, checks = 0, updated_at = gone.ended_at
  FROM (SELECT domain_name, reseller_id, ended_at,
      CASE reason WHEN 'transferred' THEN ended_at + make_interval(days => leaving_days) ELSE restorable_until END AS until
    FROM new_rows CROSS JOIN zone_settings) AS gone
  WHERE zones.domain_name = gone.domain_name AND zones.reseller_id = gone.reseller_id AND zones.state IN ('Publishing', 'Active');
  RETURN NULL;
END $function$


CREATE OR REPLACE FUNCTION public.zones_of_new_domains()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
  are_offered boolean := (SELECT cardinality(name_servers) > 0 FROM zone_settings);
BEGIN
  IF are_offered OR EXISTS (SELECT FROM zones) THEN
    PERFORM zone_follows(domain_name, reseller_id, delegation) FROM new_rows AS entered
    WHERE EXISTS (SELECT FROM zones WHERE zones.domain_name = entered.domain_name)
      OR (are_offered AND delegation_is_ours(delegation));
  END IF;
  RETURN NULL;
END $function$

