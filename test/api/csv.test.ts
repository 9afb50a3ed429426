import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { sleep } from "#lib/clock.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { authorize, type Reply } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false, proxy: true });
const owner = await gateway.addReseller();
const small = await gateway.addReseller();
const accept = { accept: "text/csv" };
const manyNames = 30_000;

const addNames = (as: TestReseller, names: string, more = "") =>
  runSql(
    gateway.databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status, statuses, delegation)
     SELECT name, ${as.id}, 'sandbox', '2026-01-01', '2027-01-01', '2027-01-01', true, 'ok', '{ok,clientTransferProhibited}',
       '[{"name": "ns1.long-name-of-a-name-server.example", "addresses": ["192.0.2.1"]}, {"name": "ns2.dns-host.net"}]'
     FROM (${names}) AS added (name) ${more}`,
  );
await addNames(
  owner,
  `SELECT 'name-' || lpad(n::text, 6, '0') || '.example' FROM generate_series(1, ${manyNames}) AS n`,
);
const nameOf = (number: number) => `name-${String(number).padStart(6, "0")}.example`;

/** Begins a download; its body is not read yet. */
function download(
  as: TestReseller,
  target: string,
  headers: Record<string, string> = accept,
): Promise<IncomingMessage> {
  const authorization = authorize({ key: as.key, clock: gateway.context.clock, method: "GET", target });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = request(
    `${gateway.url}${target}`,
    { agent: false, headers: { ...headers, authorization } },
    resolve,
  );
  outgoing.on("error", reject).end();
  return promise;
}

const get = (as: TestReseller, target: string, headers: Record<string, string> = accept) =>
  gateway.send(as, "GET", target, { headers });
const rowsOf = ({ text }: Pick<Reply, "text">) => {
  const lines = text.split("\r\n");
  assert.equal(lines.pop(), "", "the last line ends with CRLF, too");
  return lines.map((line) => line.split(","));
};
const pagesRead = () => gateway.proxy.executed.filter((name) => /-page-(skip|next|rest)/.test(name)).length;

test("a portfolio is one file, with a header line", async () => {
  await addNames(small, "VALUES ('a.example'), ('xn--mnchen-3ya.example')");
  const reply = await get(small, "/v1/domains");
  assert.equal(reply.status, 200);
  assert.equal(reply.headers["content-type"], "text/csv; charset=utf-8");
  assert.equal(reply.headers["content-disposition"], 'attachment; filename="domains.csv"');
  assert.match(reply.headers["x-request-id"] ?? "", /^[0-9a-f]{24}$/);
  assert.equal(reply.headers["cache-control"], "no-store");
  assert.equal(reply.headers["x-ratelimit-usage"], "10", "it counts as ten requests");
  assert.deepEqual(rowsOf(reply), [
    [
      ...["domain_name", "expiration_date", "will_renew", "registration_date", "status", "statuses", "name_servers"],
      ...["dnssec", "transfer_locked", "transfer_status", "transfer_requested_at", "transfer_gaining_registrar"],
      ...["transfer_answer_by", "state"],
    ],
    ...["a.example", "xn--mnchen-3ya.example"].map((name) => [
      ...[name, "2027-01-01T00:00:00.000Z", "true", "2026-01-01T00:00:00.000Z", "ok", "ok clientTransferProhibited"],
      ...["ns1.long-name-of-a-name-server.example ns2.dns-host.net", "", "true", "", "", "", "", "active"],
    ]),
  ]);
  assert.deepEqual(rowsOf(await get(await gateway.addReseller(), "/domains")).length, 1, "an empty list is a header");
});

test("orders, renewals and departures are files, too, with the filters of their lists", async () => {
  const reseller = await gateway.addReseller();
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years, status, reason, created_at, updated_at, ended_at)
     SELECT 'REG-0000000' || n || '-000', ${reseller.id}, 'order-' || n || '.example', 'example', 'sandbox', 1,
       CASE n WHEN 1 THEN 'Errors' ELSE 'Finished' END, '=cmd|''/C calc''!A0, "x"', ('2026-01-0' || n)::timestamptz, '2026-01-01', '2026-01-09'
     FROM generate_series(1, 3) AS n`,
  );
  const [header, ...orders] = rowsOf(await get(reseller, "/orders?kind=create&status=Finished"));
  assert.deepEqual(header?.slice(0, 4), ["order_code", "kind", "domain_name", "status"]);
  assert.deepEqual(
    orders.map(([code]) => code),
    ["REG-00000003-000", "REG-00000002-000"],
  );
  const failed = await get(reseller, "/orders?status=errors");
  assert.match(failed.text, /,order_failed,"'=cmd\|'\/C calc'!A0, ""x""",Read error_text\./, "nothing is calculated");

  await addNames(reseller, "VALUES ('due.example')");
  await runSql(
    gateway.databaseUrl,
    `WITH renewal AS (
       INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
         next_step_at, list_key, created_at, updated_at)
       VALUES ('REN-00000000-000', ${reseller.id}, 'due.example', 'sandbox', 1, '2027-01-01', '2026-12-01', 'Scheduled',
         'infinity', 'due.example', now(), now()) RETURNING id)
     UPDATE domains SET renewal_id = (SELECT id FROM renewal) WHERE domain_name = 'due.example';
     INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, ended_at, reason, gaining_registrar)
     VALUES ('gone.example', ${reseller.id}, 'sandbox', '2025-01-01', '2026-01-01', '2026-01-01', true, '2026-01-01', 'transferred', '@other')`,
  );
  const due = ["due.example", "2027-01-01T00:00:00.000Z", "true", "Scheduled", "2026-12-01T00:00:00.000Z", ""];
  assert.deepEqual(rowsOf(await get(reseller, "/renewals?status=scheduled"))[1], due);
  assert.equal(rowsOf(await get(reseller, "/renewals?status=Lapsing")).length, 1);
  assert.deepEqual(rowsOf(await get(reseller, "/domains/departures"))[1], [
    ...["gone.example", "2026-01-01T00:00:00.000Z", "transferred", "'@other", ""],
  ]);
});

test("the whole list comes once, in its order, also of a part of it", async () => {
  const rows = rowsOf(await get(owner, "/domains"));
  assert.deepEqual(
    rows.slice(1).map(([name]) => name),
    Array.from({ length: manyNames }, (_, index) => nameOf(index + 1)),
  );
  const part = rowsOf(await get(owner, "/domains?name_prefix=name-01&will_renew=true"));
  assert.deepEqual(
    part.slice(1).map(([name]) => name),
    Array.from({ length: 10_000 }, (_, index) => nameOf(10_000 + index)),
  );
  const { executed } = gateway.proxy;
  assert.ok(executed.includes("filtered-domains-page-rest") && !executed.includes("filtered-domains-page-next"));
});

test("orders of the same moment come once each, over many pages", async () => {
  const reseller = await gateway.addReseller();
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, created_at, updated_at, ended_at)
     SELECT 'CHG-' || lpad(n::text, 8, '0') || '-000', ${reseller.id}, 'n.example', 'none', 'transfer-lock', '{}', false, 'Finished',
       timestamptz '2026-01-01' + (n / 700) * interval '1 microsecond', now(), now() FROM generate_series(1, 2000) AS n`,
  );
  for (const target of ["/orders", "/orders?domain_name=n.example"]) {
    const codes = rowsOf(await get(reseller, target))
      .slice(1)
      .map(([code]) => code);
    const wanted = Array.from({ length: 2000 }, (_, index) => `CHG-${String(2000 - index).padStart(8, "0")}-000`);
    assert.deepEqual(codes, wanted, target);
  }
});

test("names that are registered or leave meanwhile neither repeat nor hide another", async () => {
  const reply = await download(owner, "/domains");
  let text = "";
  for await (const chunk of reply.setEncoding("utf8")) {
    if (text === "") {
      await addNames(owner, "VALUES ('aaa-first.example'), ('name-029999-a.example'), ('zzz-last.example')");
      await runSql(
        gateway.databaseUrl,
        `DELETE FROM domains WHERE domain_name IN ('${nameOf(1)}', '${nameOf(29_998)}')`,
      );
    }
    text += chunk;
  }
  const names = rowsOf({ text })
    .slice(1)
    .map(([name]) => name!);
  assert.deepEqual(names, [...new Set(names)].toSorted(), "each once, in order");
  const seen = new Set(names);
  for (let number = 2; number <= manyNames; number++) if (number !== 29_998) assert.ok(seen.has(nameOf(number)));
  assert.ok(seen.has("zzz-last.example"));
});

test("a long list takes no more memory than a short one", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used: number[] = [];
  let [bytes, parts] = [0, 0];
  for await (const chunk of await download(owner, "/domains")) {
    parts += 1;
    bytes += chunk.length;
    if (parts % 5 !== 0) continue;
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    used.push(heapUsed + arrayBuffers);
  }
  const third = Math.floor(used.length / 3);
  // A look may come while a page is in memory, and that is a tenth of the file. What stays is what every look sees.
  const begun = Math.min(...used.slice(0, third));
  const later = Math.min(...used.slice(-third));
  assert.ok(bytes > manyNames * 150 && used.length > 10, `${bytes} bytes looked at ${used.length} times`);
  assert.ok(later - begun < bytes / 10, `${begun} bytes at first, ${later} later, for a file of ${bytes}`);
});

test("a client that leaves ends the reading, and its turn", async () => {
  gateway.proxy.executed.length = 0;
  const leaving = [await download(owner, "/domains"), await download(owner, "/domains")];
  for (const reply of leaving) {
    reply.once("data", () => reply.destroy()).on("error", () => {});
    await once(reply, "close");
  }
  // Both turns are free once nothing is read for them any more.
  while ((await get(owner, "/domains?name_prefix=none")).status === 429) await sleep(10);
  while (
    (await Promise.all([1, 2].map(() => get(owner, "/domains?name_prefix=none")))).some(({ status }) => status === 429)
  ) {
    await sleep(10);
  }
  const read = pagesRead();
  assert.ok(read < manyNames / 500, `${read} pages are read for two files of ${manyNames / 500}`);
  await get(small, "/domains", { accept: "application/json" });
  await get(small, "/domains", { accept: "application/json" });
  assert.equal(pagesRead(), read + 2, "nothing else is read");
});

test("a reseller has two exports at once, which hold up nobody else and nothing else", async () => {
  const open = await Promise.all([download(owner, "/domains"), download(owner, "/domains")]);
  const third = await get(owner, "/orders");
  assert.match(assertError(third, "rate_limit_exceeded").error_text, /2 lists as CSV/);
  assert.equal(third.headers["retry-after"], "5");
  assert.equal((await get(owner, "/domains", {})).status, 200);
  assert.equal((await get(small, "/domains")).status, 200);
  for (const reply of open) assert.equal((await reply.toArray()).length > 0, true);
  assert.equal((await get(owner, "/orders")).status, 200);
});

test("an export counts as ten requests, or as all of a smaller limit", async () => {
  const ten = await gateway.addReseller({ rateLimit: 12 });
  assert.equal((await get(ten, "/domains")).headers["x-ratelimit-remaining"], "2");
  assertError(await get(ten, "/domains"), "rate_limit_exceeded");
  const three = await gateway.addReseller({ rateLimit: 3 });
  assert.equal((await get(three, "/domains")).headers["x-ratelimit-remaining"], "0");
  assertError(await get(three, "/domains"), "rate_limit_exceeded");
});

test("errors before the first byte are JSON, and end the turn", async () => {
  for (let count = 0; count < 3; count++) {
    for (const page of ["skip=0", "take=100", "cursor=ab"]) {
      const { error_text } = assertError(await get(small, `/domains?${page}`), "invalid_paging_request");
      assert.match(error_text, /leave out skip, take and cursor/);
    }
    assertError(await get(small, "/domains?will_renew=perhaps"), "bad_request");
  }
  assert.equal((await get(small, "/domains")).status, 200);
});

test("without the scope, or where no CSV is offered, answers are JSON as always", async () => {
  const key = await gateway.addKey(small, { scopes: ["servicepacks:read"] });
  assertError(await get(key, "/domains"), "authorization_scope_missing");
  for (const target of [
    "/v2/domains",
    "/domains/a.example",
    "/domains/a.example/history",
    "/hostingaccounts",
    "/servicepacks",
  ]) {
    const reply = await get(small, target);
    assert.equal(reply.headers["content-type"], "application/json; charset=utf-8", target);
  }
  for (const mixed of ["*/*", "application/json, text/csv", "text/csv, */*;q=0.1", "text/html", ""]) {
    assert.ok(Array.isArray((await get(small, "/domains", { accept: mixed })).body), mixed);
  }
});

test("a database that fails in the middle cuts the connection, and before it is a 503", async () => {
  const reply = await download(owner, "/domains");
  reply.once("data", () => gateway.proxy.cut());
  await assert.rejects(reply.toArray(), { code: "ECONNRESET" });
  assert.equal(reply.complete, false);
  assert.equal((await get(owner, "/domains")).status, 503);
  gateway.proxy.restore();
  while ((await get(owner, "/domains?name_prefix=none")).status !== 200) await sleep(20);
});
