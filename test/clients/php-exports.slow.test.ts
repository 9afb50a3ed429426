/** Whole lists as CSV by the library for PHP: which rows they have, and what it does when a list or its stream fails. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { type FaultRelay, startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type Fields, type ForeignOptions, php, startForeignClient } from "./foreign-client.ts";

const { skip } = php;
const csvHead = "content-type: text/csv; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";
const firstChunk = "5\r\na,b\r\n\r\n";

const gateway: TestGateway = await startTestGateway({ after }, { worker: false });
const owner = await gateway.addReseller();
const relay: FaultRelay = await startFaultRelay(Number(new URL(gateway.url).port));
after(() => relay.close());
const folder = await mkdtemp(join(tmpdir(), "deedhouse-php-csv-"));
after(() => rm(folder, { recursive: true }));
const file = join(folder, "list.csv");

const startClient = (t: TestContext, key: TestReseller["key"] = owner.key, options: Partial<ForeignOptions> = {}) =>
  startForeignClient(t, php, {
    url: `http://127.0.0.1:${relay.port}/v1`,
    apiKey: key.id,
    apiSecret: key.secret.reveal(),
    isInstant: true,
    ...options,
  });
const written = () => readFileSync(file, "utf8");

/** The fields of each line by the header's names; no cell of these lists has a comma. */
function rowsOf(text: string): Record<string, string>[] {
  const [header = [], ...lines] = text.split("\r\n").map((line) => line.split(","));
  assert.deepEqual(lines.pop(), [""], "the last line ends with CRLF, too");
  return lines.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ""])));
}

async function fillLists(): Promise<void> {
  const { id } = owner;
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date, will_renew, status)
     SELECT prefix || n || '.example', ${id}, 'sandbox', '2026-01-01', '2027-01-01'::timestamptz + n * interval '1 year', '2027-01-01',
       n > 1, 'ok' FROM unnest(ARRAY['shop-', 'other-']) AS prefix, generate_series(1, 3) AS n;
     INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years, status, created_at, updated_at, ended_at)
     SELECT 'REG-0000000' || n || '-000', ${id}, 'shop-' || n % 2 || '.example', 'example', 'sandbox', 1,
       CASE WHEN n < 3 THEN 'Errors' ELSE 'Finished' END, '2026-01-01', '2026-01-01', '2026-01-09' FROM generate_series(1, 5) AS n;
     INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, created_at, updated_at, ended_at)
     VALUES ('CHG-00000000-000', ${id}, 'shop-1.example', 'none', 'transfer-lock', '{}', false, 'Finished', now(), now(), now());
     WITH renewal AS (
       INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
         next_step_at, list_key, created_at, updated_at)
       VALUES ('REN-00000000-000', ${id}, 'shop-2.example', 'sandbox', 1, '2027-01-01', '2026-12-01', 'Scheduled', 'infinity',
         'shop-2.example', now(), now()) RETURNING id)
     UPDATE domains SET renewal_id = (SELECT id FROM renewal) WHERE domain_name = 'shop-2.example';
     INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, ended_at, reason)
     SELECT 'gone-' || n || '.example', ${id}, 'sandbox', '2025-01-01', '2026-01-01', '2026-01-01', true,
       '2026-01-01'::timestamptz + n * interval '1 day', 'deleted' FROM generate_series(1, 2) AS n`,
  );
}

/** What follows the name of `all…` and `export…`, filters, and how many rows they select. */
const lists: [string, Fields, number][] = [
  ["Domains", {}, 6],
  ["Domains", { namePrefix: "shop-" }, 3],
  ["Domains", { expiresBefore: "2028-06-01" }, 2],
  ["Domains", { willRenew: false }, 2],
  ["Orders", {}, 6],
  ["Orders", { domainName: "shop-1.example" }, 4],
  ["Orders", { kind: "create" }, 5],
  ["Orders", { status: "Errors" }, 2],
  ["Renewals", {}, 1],
  ["Renewals", { status: "Scheduled" }, 1],
  ["Renewals", { status: "Lapsing" }, 0],
  ["Departures", {}, 2],
];

test("each list as CSV has the rows of the list, also with each filter", { skip }, async (t) => {
  await fillLists();
  const client = await startClient(t);
  for (const [list, filters, count] of lists) {
    const what = `${list} ${JSON.stringify(filters)}`;
    await client.get(`export${list}`, { file, ...filters });
    const rows = rowsOf(written());
    const items = await client.data<Fields[]>(`all${list}`, filters);
    assert.equal(rows.length, count, what);
    assert.equal(items.length, count, what);
    for (const [at, item] of items.entries()) {
      for (const [name, value] of Object.entries(item)) {
        if (["string", "boolean"].includes(typeof value))
          assert.equal(rows[at]?.[name], String(value), `${what}: ${name}`);
      }
    }
  }
});

test("a key without the scope gets the service's error, and nothing is written", { skip }, async (t) => {
  const { key } = await gateway.addKey(owner, { scopes: ["servicepacks:read"] });
  const client = await startClient(t, key);
  for (const method of ["exportDomains", "exportOrders", "exportRenewals", "exportDepartures"]) {
    const { error, retries } = await client.say(method, { file });
    assert.deepEqual([error?.type, error?.status, error?.errorCode], ["Api", 403, "authorization_scope_missing"]);
    assert.deepEqual(retries, []);
    assert.equal(written(), "");
  }
});

test("what cannot be written to is refused before anything is sent", { skip }, async (t) => {
  const client = await startClient(t);
  writeFileSync(file, "kept");
  relay.carried.length = 0;
  const none = await client.fail("exportDomains");
  assert.deepEqual([none.type, /written to a stream/.test(String(none.message))], ["InvalidArgument", true]);
  const unwritable = await client.fail("exportDomains", { file, mode: "rb" });
  assert.deepEqual(
    [unwritable.type, /not open for writing/.test(String(unwritable.message))],
    ["InvalidArgument", true],
  );
  assert.deepEqual(relay.carried, []);
  assert.equal(written(), "kept");
});

test("a stream that takes no more ends the list with an error, and the next call works", { skip }, async (t) => {
  const client = await startClient(t);
  const { error, retries } = await client.say("exportDomains", { file: "/dev/full" });
  assert.deepEqual([error?.type, retries], ["Runtime", []]);
  assert.match(error!.message, /could not be written to the stream, so it is not whole/);
  await client.get("exportDomains", { file });
  assert.match(written(), /^domain_name,/);
});

test("a list that ends between two parts, without the last of them, is not whole", { skip }, async (t) => {
  const client = await startClient(t);
  relay.faults.push({ answer: `HTTP/1.1 200 OK\r\n${csvHead}${firstChunk}` });
  const { error, retries } = await client.say("exportDomains", { file });
  assert.deepEqual([error?.type, retries], ["NoAnswer", []]);
  assert.match(error!.message, /^the list broke off, so it is not whole: /);
  assert.equal(written(), "a,b\r\n");
});

test("only CSV is taken for a list, with any status of success", { skip }, async (t) => {
  const client = await startClient(t);
  relay.faults.push({ answer: "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]" });
  assert.equal((await client.fail("exportDomains", { file })).errorCode, "unexpected_response");
  assert.equal(written(), "");
  relay.faults.push({ answer: `HTTP/1.1 203 Changed\r\n${csvHead}${firstChunk}0\r\n\r\n` });
  await client.get("exportDomains", { file });
  assert.equal(written(), "a,b\r\n");
});

test("a list that falls silent is an error, before its first byte and after it", { skip }, async (t) => {
  let requests = 0;
  const silent = createServer((_, response) => {
    requests += 1;
    if (requests === 2) response.writeHead(200, { "content-type": "text/csv" }).write("a,b\r\n");
  });
  await once(silent.listen(0, "127.0.0.1"), "listening");
  t.after(() => silent.close());
  t.after(() => silent.closeAllConnections());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const client = await startClient(t, owner.key, { url, timeoutSeconds: 0.5, retriesMax: 0 });
  const before = await client.fail("exportDomains", { file });
  assert.deepEqual([before.type, before.message], ["NoAnswer", `no answer from ${url} within 0.5 s`]);
  assert.equal(written(), "");
  const later = await client.fail("exportDomains", { file });
  assert.equal(later.type, "NoAnswer");
  assert.match(String(later.message), /^the list broke off, so it is not whole: .* within 0\.5 s$/);
  assert.equal(written(), "a,b\r\n");
});
