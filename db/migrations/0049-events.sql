-- What resellers are told. Triggers write an event in the transaction of what happened, so no writer can forget one, and none tells
-- of what was rolled back. Types and their data: src/events/catalogue.ts.

-- Transactions are numbered by their database cluster. A restore begins a new era, because it may begin their numbers from another start.
CREATE TABLE event_log (
  era integer NOT NULL,
  -- The cluster and its timeline, as src/events/log.ts reads them.
  origin text NOT NULL,
  -- The last event that was deleted.
  deleted_era integer NOT NULL DEFAULT 0,
  deleted_transaction xid8 NOT NULL DEFAULT '0',
  deleted_number bigint NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX event_log_one_row ON event_log ((true));
INSERT INTO event_log (era, origin)
  SELECT 1, system_identifier || '/' || timeline_id FROM pg_control_system(), pg_control_checkpoint();

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

CREATE FUNCTION events_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('events', reseller_id::text) FROM (SELECT DISTINCT reseller_id FROM new_rows) AS reseller;
  RETURN NULL;
END $$;
CREATE TRIGGER written AFTER INSERT ON events REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION events_written();

-- As the API writes times.
CREATE FUNCTION iso_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE
  RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

-- Of an order that has ended.
CREATE FUNCTION order_event(code text, kind text, name text, status text, reason text) RETURNS jsonb LANGUAGE sql IMMUTABLE
  RETURN jsonb_build_object('order_code', code, 'kind', kind, 'domain_name', name, 'status', status)
    || CASE WHEN status = 'Finished' THEN '{}' ELSE jsonb_build_object(
      'error_code', CASE status WHEN 'Errors' THEN 'order_failed' WHEN 'Cancelled' THEN 'order_cancelled' ELSE 'order_refused' END,
      'error_text', coalesce(reason, 'It ended without a reason.')) END;

CREATE FUNCTION order_event_type(status text) RETURNS text LANGUAGE sql IMMUTABLE
  RETURN CASE status WHEN 'Finished' THEN 'order.finished' WHEN 'Cancelled' THEN 'order.cancelled' ELSE 'order.failed' END;

CREATE OR REPLACE FUNCTION registrations_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, 'create', ended.status, ended.change);
  END LOOP;
  -- Most statements end no order.
  IF FOUND THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT (SELECT era FROM event_log), row.reseller_id, row.ended_at, told.type, row.domain_name, told.data
    FROM new_rows AS row JOIN old_rows AS before ON before.id = row.id CROSS JOIN LATERAL (
      SELECT 'domain.registered' AS type, jsonb_build_object('domain_name', row.domain_name,
        'expiration_date', iso_time(name.expiration_date), 'order_code', row.order_code) AS data
      FROM domains AS name WHERE name.order_id = row.id AND row.status = 'Finished'
      UNION ALL
      SELECT order_event_type(row.status), order_event(row.order_code, 'create', row.domain_name, row.status, row.reason)) AS told
    WHERE row.ended_at IS NOT NULL AND before.ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION changes_ended() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ended record;
BEGIN
  FOR ended IN SELECT reseller_id, kind, status, sum(change)::bigint AS change FROM (
      SELECT reseller_id, kind, status, 1 AS change FROM new_rows WHERE ended_at IS NOT NULL
      UNION ALL SELECT reseller_id, kind, status, -1 FROM old_rows WHERE ended_at IS NOT NULL) AS changed
    GROUP BY 1, 2, 3 HAVING sum(change) <> 0 LOOP
    PERFORM order_count_add(ended.reseller_id, ended.kind, ended.status, ended.change);
  END LOOP;
  IF FOUND THEN
    INSERT INTO events (era, reseller_id, at, type, subject, data)
    SELECT (SELECT era FROM event_log), row.reseller_id, row.ended_at, order_event_type(row.status), row.domain_name,
      order_event(row.change_code, row.kind, row.domain_name, row.status, row.reason)
    FROM new_rows AS row JOIN old_rows AS before ON before.id = row.id
    WHERE row.ended_at IS NOT NULL AND before.ended_at IS NULL;
  END IF;
  RETURN NULL;
END $$;

-- A departure has its own event: domains_ended says more.
CREATE FUNCTION domain_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
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
END $$;
CREATE TRIGGER told AFTER INSERT ON domain_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION domain_history_told();

CREATE FUNCTION departures_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), reseller_id, ended_at, 'domain.left', domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', domain_name, 'reason', reason, 'gaining_registrar', gaining_registrar,
      'restorable_until', iso_time(restorable_until)))
  FROM new_rows ORDER BY id;
  RETURN NULL;
END $$;
CREATE TRIGGER told AFTER INSERT ON domains_ended REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION departures_told();

-- Another registrar asks for the name, or does so no longer while the name stays.
CREATE FUNCTION transfer_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT era, NEW.reseller_id, clock_timestamp(),
    CASE WHEN NEW.transfer IS NULL THEN 'domain.transfer_ended' ELSE 'domain.transfer_requested' END, NEW.domain_name,
    jsonb_strip_nulls(jsonb_build_object('domain_name', NEW.domain_name, 'gaining_registrar', transfer ->> 'gaining_registrar',
      'requested_at', transfer ->> 'requested_at',
      'answer_by', CASE WHEN NEW.transfer IS NOT NULL THEN transfer ->> 'answer_by' END))
  FROM event_log, coalesce(NEW.transfer, OLD.transfer) AS transfer;
  RETURN NULL;
END $$;
CREATE TRIGGER transfer_told AFTER UPDATE OF transfer ON domains FOR EACH ROW
  WHEN (OLD.transfer IS DISTINCT FROM NEW.transfer
    AND (NEW.transfer ->> 'status' = 'pending' OR NEW.transfer IS NULL AND OLD.transfer ->> 'status' = 'pending'))
  EXECUTE FUNCTION transfer_told();

CREATE FUNCTION hosting_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
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
  -- What is left of an account that failed is removed, too.
  WHERE told.event <> 'removed' OR NOT EXISTS (
    SELECT FROM hosting_history AS earlier WHERE earlier.account_id = row.account_id AND earlier.event = 'refused')
  ORDER BY row.id;
  RETURN NULL;
END $$;
CREATE TRIGGER told AFTER INSERT ON hosting_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION hosting_history_told();

-- The schedule cannot renew a name before an operator has decided.
CREATE FUNCTION renewal_history_told() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO events (era, reseller_id, at, type, subject, data)
  SELECT (SELECT era FROM event_log), renewal.reseller_id, row.at, 'renewal.attention', renewal.domain_name,
    jsonb_build_object('domain_name', renewal.domain_name, 'expiration_date', iso_time(renewal.term_ends_at))
  FROM new_rows AS row JOIN renewals AS renewal ON renewal.id = row.renewal_id
  WHERE row.event = 'needs-operator'
  ORDER BY row.id;
  RETURN NULL;
END $$;
CREATE TRIGGER told AFTER INSERT ON renewal_history REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION renewal_history_told();
