import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import type { ListedDeparture } from "./stage.ts";

/** Over the 1,000 rows from which a statement counts the list again, and over the size of a chunk. */
const bulkRows = 1_500;

/** Departures as a worker writes them. */
const insert = `INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date,
    registry_ex_date, ended_at, reason)
  SELECT name, $1, 'sandbox', now(), now(), now(), $3::timestamptz - place * interval '1 minute', $4
  FROM unnest($2::text[]) WITH ORDINALITY AS names(name, place)`;

async function startList(t: Parameters<typeof startTestGateway>[0]) {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const leftAt = new Date("2026-05-01T12:00:00.000Z");
  const add = (names: string[], reason = "expired", of: TestReseller = reseller) =>
    runSql(gateway.databaseUrl, insert, [of.id, names, leftAt, reason]);
  const list = async (query = "", of: TestReseller = reseller) => {
    const { status, body, headers, text } = await gateway.send(of, "GET", `/domains/departures${query}`);
    assert.equal(status, 200, text);
    return { rows: body as ListedDeparture[], headers };
  };
  return { gateway, reseller, add, list };
}

test("departures are listed with the newest first, and every page of thousands has exact totals and no gaps", async (t) => {
  const { gateway, add, list } = await startList(t);
  const names = Array.from({ length: bulkRows }, (_, index) => `n${index}.example`);
  await add(names);
  await add(["twice.example", "twice.example"]);
  await runSql(
    gateway.databaseUrl,
    "DELETE FROM domains_ended WHERE domain_name = 'twice.example' OR domain_name = 'n7.example'",
  );
  const { rows, headers } = await list(`?skip=${bulkRows - 3}`);
  assert.equal(headers["x-paging-totalresults"], String(bulkRows - 1));
  assert.deepEqual(
    rows.map(({ domain_name }) => domain_name),
    names.slice(-2),
  );
  const followed: string[] = [];
  for (let query: string | undefined = "?take=100"; query !== undefined; ) {
    const page: Awaited<ReturnType<typeof list>> = await list(query);
    followed.push(...page.rows.map(({ domain_name }) => domain_name));
    query = /<\/domains\/departures(\?[^>]*)>; rel="next"/.exec(page.headers.link ?? "")?.[1];
  }
  assert.deepEqual(
    followed,
    names.filter((name) => name !== "n7.example"),
  );
});

test("a reseller sees its own departures only, and a cursor of another reseller is refused", async (t) => {
  const { gateway, add, list } = await startList(t);
  const other = await gateway.addReseller();
  await add(["a.example", "b.example"]);
  await add(["c.example"], "transferred", other);
  assert.deepEqual(
    (await list("", other)).rows.map(({ domain_name }) => domain_name),
    ["c.example"],
  );
  const next = /(\?[^>]*)>; rel="next"/.exec((await list("?take=1")).headers.link ?? "")?.[1] ?? "";
  assertError(await gateway.send(other, "GET", `/domains/departures${next}`), "invalid_paging_request");
});
