-- The renewals' sweep reads on from the last name that it has handled: many names may end at one time.
CREATE INDEX domains_unscheduled ON domains (registry_id, expiration_date, domain_name) WHERE renewal_id IS NULL;
DROP INDEX domains_without_renewal;

-- Only a bitmap scan reads a GIN index, and our connections plan none (docs/decisions/0005-plans-stay-on-indexes.md). With them, too, a
-- walk through all names of the registry looks cheaper to the planner, which takes one name in a hundred to match. So these lookups
-- have settings of their own, for what they run. IS NOT DISTINCT FROM keeps the indexes of registries out.
CREATE FUNCTION is_contact_of_name(registry text, contact text, moment timestamptz) RETURNS boolean LANGUAGE sql STABLE COST 10000
  SET enable_bitmapscan = on SET enable_indexscan = off SET enable_seqscan = off AS $$
  SELECT EXISTS (SELECT FROM domains WHERE registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
    OR EXISTS (SELECT FROM domains_ended WHERE restorable_until > moment AND registry_id IS NOT DISTINCT FROM registry AND (
      handles @> jsonb_build_object('registrant', contact)
      OR handles @> jsonb_build_object('contacts', jsonb_build_array(jsonb_build_object('id', contact)))))
$$;

CREATE INDEX domains_delegation ON domains USING gin (delegation jsonb_path_ops);
CREATE FUNCTION names_at_hosts(hosts text[]) RETURNS SETOF text LANGUAGE sql STABLE ROWS 100
  SET enable_bitmapscan = on SET enable_indexscan = off SET enable_seqscan = off AS $$
  SELECT domain_name FROM domains WHERE delegation @> ANY (ARRAY(
    SELECT jsonb_build_array(jsonb_build_object('name', host)) FROM unnest(hosts) AS host))
$$;

-- What these indexes hold is a small part of its table.
CREATE INDEX renewals_step_begun ON renewals (registry_id, next_step_at)
  WHERE ended_at IS NULL AND NOT (status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait');
CREATE INDEX registry_contacts_digest ON registry_contacts (reseller_id, data_digest);
CREATE INDEX registry_contacts_marked ON registry_contacts (registry_id, look_at) WHERE delete_cl_trid IS NOT NULL;
CREATE INDEX poll_messages_waiting ON poll_messages (received_at, registry_id, message_id)
  WHERE needs_operator AND done_at IS NULL;
CREATE INDEX alarms_open_newest ON alarms (id) WHERE resolved_at IS NULL;
CREATE INDEX domains_ended_transferred ON domains_ended (id) WHERE reason = 'transferred';
CREATE INDEX alarms_subject ON alarms (kind, subject, resolved_at);
CREATE INDEX hosting_moves_source_uid ON hosting_moves (source_uid);
CREATE INDEX name_questions_age ON name_questions (asked_at);
-- A node's accounts, in the order in which they are listed.
CREATE INDEX hosting_accounts_of_node ON hosting_accounts (node_id, id) WHERE status NOT IN ('Failed', 'Removed');
DROP INDEX hosting_accounts_node;
