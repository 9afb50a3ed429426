/**
 * What a gateway has after years: names of many resellers, half of them of one, with all that grows with them. Rows are made in SQL.
 */
import type { Client } from "pg";

/** The reseller with half of all names. */
export const largeReseller = 1;
const resellers = 300;

/** SQL: the reseller of the n-th row; half of all rows are the large one's. */
const reseller = (n = "n") => `CASE WHEN ${n} % 2 = 0 THEN ${largeReseller} ELSE 2 + ${n} % ${resellers - 1} END`;
/** SQL: a name of two registries, far from its neighbours in the alphabet. */
const name = (n = "n") => `'name-' || md5((${n})::text) || '-' || (${n}) || '.example'`;
const registry = (n = "n") => `CASE WHEN ${n} % 5 = 0 THEN 'other' ELSE 'sandbox' END`;
const code = (prefix: string, n = "n") => `'${prefix}-' || (${n})`;
/** SQL: the end of the n-th order: one a minute, until now. */
const ago = (count: number, n = "n") => `now() - (${count} - ${n}) * interval '1 minute'`;

/** The rows of a table: how many, and SQL for the n-th of them, counted from 1. */
type Rows = Record<string, [columns: string, values: string, count: number]>;

/** How many registrations are live, and how many other orders. */
const liveOf = (names: number) => Math.ceil(names / 800);
const accountsOf = (names: number) => Math.ceil(names / 10);
const months = 3;
const status = (ended: number) =>
  `CASE WHEN n > ${ended} THEN 'Processing' WHEN n % 50 = 0 THEN 'Errors' ELSE 'Finished' END`;

function resellersAndOrders(names: number): Rows {
  const live = liveOf(names);
  // Registrations that have ended, then other orders that have, then live orders of both kinds.
  const isLive = `n > ${2 * names}`;
  const isCreate = `(n <= ${names} OR ${isLive} AND n % 2 = 0)`;
  const orderedAt = ago(names, `(1 + (n - 1) % ${names})`);
  const contacts = `jsonb_build_object('admin', 'digest-' || n % ${Math.ceil(names / 3)})`;
  return {
    resellers: [
      "name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at",
      "'reseller ' || n, 'reseller', 100, 1000, 1000000000, now()",
      resellers,
    ],
    reseller_profiles: [
      "reseller_id, full_name, email, phone, street, city, postal_code, country_code, updated_at",
      "n, 'A', 'a@b.example', '+32.1', 'S', 'C', '1', 'BE', now()",
      resellers,
    ],
    api_keys: [
      "id, reseller_id, label, secret_sealed, scopes, created_at",
      `md5(n::text), 1 + n % ${resellers}, 'key', '', '{domains:read}', now()`,
      2 * resellers,
    ],
    paid_orders: ["reseller_id, day, placed", "n, current_date, 1", resellers],
    registries: ["id, updated_at", "(ARRAY['sandbox', 'other'])[n], now()", 2],
    registry_leases: [
      "registry_id, epoch, holder, since, expires_at, lock_pid, lock_started_at",
      "(ARRAY['sandbox', 'other'])[n], 1, 'worker', now(), now() + interval '1 hour', 1, now()",
      2,
    ],
    workers: ["worker, seen_at", "'worker ' || n, now()", 3],
    blocked_names: ["name, reason, created_at", "'blocked-' || n || '.example', 'police', now()", 2_000],
    orders: [
      `order_code, reseller_id, domain_name, suffix, registry_id, kind, input, is_urgent, status, phase, created_at, updated_at,
       ended_at, next_step_at, renewal_id`,
      `CASE WHEN ${isCreate} THEN ${code("REG")} ELSE ${code("CHG", `n - ${names}`)} END, ${reseller()},
       CASE WHEN ${isCreate} AND ${isLive} THEN 'live-' || n || '.example' ELSE ${name(`1 + (n - 1) % ${names}`)} END,
       CASE WHEN ${isCreate} THEN 'example' END, ${registry()},
       CASE WHEN ${isCreate} THEN 'create'
         ELSE (ARRAY['nameservers', 'contacts', 'transfer-lock', 'renew', 'auth-code'])[1 + n / 2 % 5] END,
       CASE WHEN ${isCreate} THEN jsonb_build_object('contacts', ${contacts}) ELSE ${contacts} END, n / 2 % 5 = 3 AND NOT ${isCreate},
       ${status(2 * names)}, CASE WHEN ${isLive} THEN 'send' END, ${orderedAt}, ${orderedAt}, CASE WHEN NOT ${isLive} THEN ${orderedAt} END,
       CASE WHEN ${isLive} THEN now() + (n % 100 - 50) * interval '1 minute' END,
       CASE WHEN n / 2 % 10 = 3 AND NOT ${isCreate} THEN 1 + n / 20 END`,
      2 * (names + live),
    ],
    order_history: [
      "order_id, at, event, status",
      `1 + (n - 1) / 3, ${ago(2 * names, "n / 3")}, 'requested', 'Finished'`,
      6 * (names + live),
    ],
  };
}

function namesAndRenewals(names: number): Rows {
  return {
    attempts: [
      "cl_trid, order_id, number, command, committed_at, answered_at, result_code",
      `${code("TR")}, n, 1, 'domain:info', ${ago(names, "n / 2")}, ${ago(names, "n / 2")}, 1000`,
      2 * names,
    ],
    renewals: [
      `renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status, next_step_at, alarm_at,
       list_key, created_at, updated_at, ended_at`,
      `${code("REN")}, ${reseller()}, ${name()}, ${registry()}, 1, now() + (n % 365) * interval '1 day',
       now() + (n % 365 - 30) * interval '1 day', CASE WHEN n <= ${names / 2} THEN 'Renewed' ELSE 'Scheduled' END,
       now() + (n % 60) * interval '1 day', now() + (n % 60) * interval '1 day', lpad((n * 7919 % ${names})::text, 9, '0') || ' ' || n, now(), now(),
       CASE WHEN n <= ${names / 2} THEN now() END`,
      Math.ceil(names * 0.7),
    ],
    renewal_history: ["renewal_id, at, event, status", "1 + (n - 1) / 2, now(), 'requested', 'Renewed'", names],
    domains: [
      `domain_name, reseller_id, order_id, registry_id, registration_date, expiration_date, registry_ex_date, will_renew, status,
       renewal_id, handles, look_at, gone_since, looked_at, delegation, transfer, statuses`,
      `${name()}, ${reseller()}, n, ${registry()}, ${ago(names)}, now() + (n % 365) * interval '1 day', now(), n % 10 > 0, 'ok',
       CASE WHEN n BETWEEN ${names / 2 + 1} AND ${Math.ceil(names * 0.7)} THEN n END, jsonb_build_object('registrant', 'C' || n % ${Math.ceil(names / 3)},
       'contacts', jsonb_build_array(jsonb_build_object('id', 'C' || (n + 1) % ${Math.ceil(names / 3)}, 'type', 'admin'),
         jsonb_build_object('id', 'C' || (n + 2) % ${Math.ceil(names / 3)}, 'type', 'tech'))),
       CASE WHEN n % 4000 = 1 THEN now() END, CASE WHEN n % 8000 = 1 THEN now() - interval '2 hours' END,
       now() - (n % 30) * interval '1 day', jsonb_build_array(jsonb_build_object('name', 'ns1.host-' || n % 5000 || '.example'),
         jsonb_build_object('name', 'ns2.host-' || n % 5000 || '.example')),
       CASE WHEN n % 5000 = 1 THEN '{"status": "pending"}'::jsonb END, '{ok}'`,
      names,
    ],
    domains_ended: [
      `domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date, ended_at, reason, restorable_until, handles`,
      `'gone-' || ${name()}, ${reseller()}, ${registry()}, now(), now(), now(), ${ago(names / 4)}, 'deleted',
       CASE WHEN n % 20 = 0 THEN now() + interval '10 days' END, jsonb_build_object('registrant', 'C' || n, 'contacts', '[]'::jsonb)`,
      Math.ceil(names / 4),
    ],
    domain_history: ["domain_name, reseller_id, at, event", `${name()}, ${reseller()}, now(), 'registered'`, names],
    auth_codes: [
      "domain_name, registry_id, order_code, expires_at, replace_at",
      `${name()}, ${registry()}, ${code("CHG")}, now() + (n % 100 - 1) * interval '1 hour', now() + (n % 100 - 1) * interval '1 hour'`,
      Math.ceil(names / 50),
    ],
  };
}

function namesAndContacts(names: number): Rows {
  return {
    contacts: [
      "reseller_id, digest, data_sealed, created_at, look_at, unused_since",
      `${reseller()}, 'digest-' || n, '', now(), CASE WHEN n % 100 > 0 THEN now() + (n % 24) * interval '1 hour' END,
       CASE WHEN n % 50 = 0 THEN now() - interval '2 years' END`,
      Math.ceil(names / 3),
    ],
    registry_contacts: [
      "registry_id, contact_id, created_at, reseller_id, data_digest, look_at, unused_since, role",
      `${registry()}, 'C' || n, now(), ${reseller()}, 'digest-' || n, CASE WHEN n % 100 > 0 THEN now() + (n % 24) * interval '1 hour' END,
       CASE WHEN n % 50 = 0 THEN now() - interval '8 days' END, ''`,
      Math.ceil(names / 3),
    ],
    // Readers see events of the server's past transactions only: a new server has had few.
    events: [
      "era, transaction, reseller_id, at, type, subject, data",
      `1, (n / 1000)::text::xid8, ${reseller()}, ${ago(names)}, 'order.finished', ${name()}, '{}'`,
      names,
    ],
    webhooks: [
      `webhook_code, reseller_id, url, description, scopes, secret_sealed, era, transaction, number, created_at, next_step_at, failing_since`,
      `${code("WHK")}, 1 + n % ${resellers}, 'https://receiver.example/', '', '{domains:read}', '', 1, (n % 2 * 1000000)::text::xid8, 0, now(),
       CASE WHEN n % 10 = 0 THEN now() END, CASE WHEN n % 20 = 0 THEN now() - interval '1 hour' END`,
      2 * resellers,
    ],
    webhook_deliveries: [
      "webhook_id, event_id, type, body, created_at, status, next_at, ends_at",
      `1 + n % ${2 * resellers}, 'evt_1_' || n || '_1', 'order.finished', '{}', ${ago(names)}, CASE WHEN n % 100 = 0 THEN 'Pending' ELSE 'Delivered' END, now(), now()`,
      names,
    ],
    committed_requests: [
      "key_id, nonce, signed_at, request_digest, status, headers, created_at",
      `md5((n % ${resellers})::text), n::text, extract(epoch FROM now())::int8 - ${names} + n, '', 202, '{}', now()`,
      names,
    ],
    idempotent_requests: [
      "reseller_id, method, path, idempotency_key, body_mac, status, headers, created_at",
      `${reseller()}, 'POST', '/domains', n::text, '', 202, '{}', now() - (${names} - n) * interval '10 seconds'`,
      Math.ceil(names / 2),
    ],
    poll_messages: [
      "registry_id, message_id, received_at, needs_operator, payload, kind, outcome, domain_name, done_at",
      `${registry()}, n::text, ${ago(names)}, n % 20 = 0, '', 'notice', 'told', ${name()}, CASE WHEN n % 20 = 0 AND n % 4000 > 0 THEN now() END`,
      names,
    ],
    alarms: [
      "kind, subject, note, since, last_at, count, resolved_at",
      "'renewal', 'subject-' || n, '', now(), now(), 1, CASE WHEN n % 200 > 0 THEN now() END",
      Math.ceil(names / 10),
    ],
  };
}

function eventsAndRequests(names: number): Rows {
  const accounts = accountsOf(names);
  return {
    order_counts: [
      "reseller_id, kind, status, row_count",
      `1 + n % ${resellers}, (ARRAY['create', 'nameservers', 'contacts', 'transfer-lock', 'renew', 'auth-code'])[1 + n / ${resellers}], 'Finished', 300`,
      6 * resellers - 1,
    ],
    name_questions: [
      "id, domain_name, registry_id, takes_over, is_paced, asked_at, answer",
      `'question-' || n, ${name()}, 'sandbox', false, n % 2 = 0, now() - interval '2 hours', CASE WHEN n % 10 > 0 THEN '{}'::jsonb END`,
      5_000,
    ],
    service_packs: [
      "name, disk_quota_bytes, files_max, ftp_sessions_max, created_at",
      "'Pack ' || n, 1000, 1000, 1, now()",
      20,
    ],
    hosting_nodes: [
      "id, kind, ftp_host, ftp_port, web_host, web_port, capacity_bytes, accounts_max, created_at, updated_at",
      "'node-' || n, 'embedded', 'h', 21, 'h', 80, 1000000000, 100000, now(), now()",
      20,
    ],
    node_channels: ["node_id, public_key, last_seen_at, head", "'node-' || n, 'key', now(), 100000", 20],
    hosting_reconciles: ["node_id, wanted_at, repairs, done_at", "'node-' || n, now(), false, now()", 20],
    hosting_accounts: [
      `identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes, files_max, ftp_sessions_max, status, node_id,
       created_at, updated_at, ready_at, next_step_at, wanted_version, applied_version`,
      `${name()}, ${reseller()}, (SELECT min(id) FROM service_packs) + n % 20, '', 1, 1, 1, CASE WHEN n % 4 = 0 THEN 'Removed' ELSE 'Ready' END, 'node-' || 1 + n % 20, now(), now(), ${ago(accounts)},
       CASE WHEN n % 1000 = 1 THEN now() END, 1, CASE WHEN n % 1000 = 1 THEN 0 ELSE 1 END`,
      accounts,
    ],
    hosting_history: ["account_id, at, event, status", "1 + (n - 1) / 3, now(), 'requested', 'Ready'", 3 * accounts],
    hosting_traffic: [
      "account_id, node_id, month, bytes",
      `1 + (n - 1) / ${months}, 'node-' || 1 + (1 + (n - 1) / ${months}) % 20, to_char(now() - (n % ${months}) * interval '31 days', 'YYYY-MM'), n`,
      months * accounts,
    ],
    hosting_moves: [
      `account_id, state, source_node_id, source_uid, target_node_id, reserved_bytes, grace_seconds, created_at, updated_at, ended_at, next_step_at`,
      `n, CASE WHEN n % 100 = 1 THEN 'Copying' ELSE 'Moved' END, 'node-1', n, 'node-2', 1, 1, now(), now(), CASE WHEN n % 100 <> 1 THEN now() END,
       CASE WHEN n % 100 = 1 THEN now() END`,
      Math.ceil(accounts / 4),
    ],
  };
}

function hosting(names: number): Rows {
  const accounts = accountsOf(names);
  return {
    host_names: [
      "account_id, host_name, status, proven_by, created_at, next_check_at, next_step_at",
      `n, 'www.' || ${name()}, CASE WHEN n % 3 = 0 THEN 'Waiting' ELSE 'Proven' END, CASE WHEN n % 3 > 0 THEN 'dns' END, now(),
       now() + (n % 600 - 2) * interval '1 minute', now() + (n % 600 - 2) * interval '1 minute'`,
      accounts,
    ],
    host_name_questions: ["host_name_id, reseller_id, turn", `n, ${reseller()}, n`, 500],
    node_states: [
      "node_id, uid, identifier, version, state, usage_version",
      `'node-' || 1 + n % 20, n, ${name()}, n, '{}', n`,
      accounts,
    ],
    node_host_names: ["node_id, host_name, uid", `'node-' || 1 + n % 20, 'www.' || ${name()}, n`, accounts],
    node_questions: [
      "id, node_id, version, method, identifier, uid, expires_at",
      `gen_random_uuid(), 'node-' || 1 + n % 20, n, 'GET', ${name()}, n, now() + interval '1 minute'`,
      200,
    ],
    node_refusals: [
      "node_id, uid, after_version, version, identifier, reason, refused_at",
      `'node-' || 1 + n % 20, n, 1, n, ${name()}, 'full', now()`,
      200,
    ],
  };
}

const zones = (names: number): Rows => ({
  zones: [
    "label, domain_name, reseller_id, state, revision, serial, name_servers, hostmaster, created_at, updated_at, next_step_at",
    `md5(n::text), ${name()}, ${reseller()}, 'Active', 2, 1700000000 + n, '{ns1.dns.test}', 'hostmaster.dns.test', now(), now(),
     CASE WHEN n % 600 = 0 THEN now() END`,
    names,
  ],
  zone_sets: [
    "zone_id, owner, type, ttl, records, ids, updated_at",
    `n, '@', 'A', 300, '{192.0.2.1}', '{14}', now()`,
    names,
  ],
  zone_changes: [
    "zone_id, revision, serial, at, door, served_at",
    `1 + n / 2, 1 + n % 2, 1700000000 + n, now() - n * interval '1 minute', 'v1', now()`,
    names,
  ],
});

/** Triggers are off: what they keep is made here. */
export async function fillDatabase(client: Client, names: number): Promise<void> {
  await client.query("SET session_replication_role = replica; SET statement_timeout = 0");
  const tables: Rows = Object.assign(
    {},
    ...[resellersAndOrders, namesAndRenewals, namesAndContacts, eventsAndRequests, hosting, zones].map((rowsOf) =>
      rowsOf(names),
    ),
  );
  for (const [table, [columns, values, count]] of Object.entries(tables)) {
    await client.query(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM generate_series(1, ${count}) AS n`);
  }
  await client.query(
    `INSERT INTO list_chunks (list, reseller_id, first_name, row_count)
     SELECT list, reseller_id, CASE WHEN chunk = 0 THEN '' ELSE min(name) END, count(*) FROM (
       SELECT list, reseller_id, name, (row_number() OVER (PARTITION BY list, reseller_id ORDER BY name) - 1) / 700 AS chunk
       FROM listed_names) AS numbered
     GROUP BY list, reseller_id, chunk`,
  );
  await client.query("VACUUM ANALYZE");
  await client.query("SET session_replication_role = origin");
}
