import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { linksOf } from "../harness/link-header.ts";
import type { Reply } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const pack = await gateway.addPack();

/** The lists have the same form: a path, a name column, and rows that can be inserted. */
const lists = [
  {
    path: "/domains",
    nameOf: (row: Record<string, string>) => row.domain_name,
    add: (reseller: TestReseller, names: string[]) => insertDomains(gateway.databaseUrl, reseller, names),
    remove: (names: string[]) =>
      runSql(gateway.databaseUrl, "DELETE FROM domains WHERE domain_name = ANY ($1)", [names]),
  },
  {
    path: "/hostingaccounts",
    nameOf: (row: Record<string, string>) => row.identifier,
    add: (reseller: TestReseller, names: string[], status = "Ready") =>
      runSql(
        gateway.databaseUrl,
        `INSERT INTO hosting_accounts (identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes,
           files_max, ftp_sessions_max, status, created_at, updated_at)
         SELECT name, $1, $3, '', 1, 1, 1, $4, now(), now() FROM unnest($2::text[]) AS name`,
        [reseller.id, names, pack, status],
      ),
    remove: (names: string[]) =>
      runSql(gateway.databaseUrl, "DELETE FROM hosting_accounts WHERE identifier = ANY ($1)", [names]),
  },
  {
    path: "/domains/departures",
    nameOf: (row: Record<string, string>) => row.domain_name,
    add: (reseller: TestReseller, names: string[]) =>
      runSql(
        gateway.databaseUrl,
        `INSERT INTO domains_ended (domain_name, reseller_id, registry_id, registration_date, expiration_date,
           registry_ex_date, ended_at, reason)
         SELECT name, $1, 'sandbox', now(), now(), now(), '2026-01-01T00:00:00Z', 'expired' FROM unnest($2::text[]) AS name`,
        [reseller.id, names],
      ),
    remove: (names: string[]) =>
      runSql(gateway.databaseUrl, "DELETE FROM domains_ended WHERE domain_name = ANY ($1)", [names]),
  },
];
type List = (typeof lists)[number];

const named = (owner: TestReseller, from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `n${String(from + index).padStart(4, "0")}-${owner.id}.example`);
const namesIn = (list: List, reply: Reply) => (reply.body as Record<string, string>[]).map((row) => list.nameOf(row));
const paging = ({ headers }: Reply) =>
  ["skipped", "take", "totalresults"].map((name) => Number(headers[`x-paging-${name}`]));

async function get(reseller: TestReseller, target: string): Promise<Reply> {
  const reply = await gateway.send(reseller, "GET", target);
  assert.equal(reply.status, 200, reply.text);
  assertFullForm(reply);
  return reply;
}

/** Follows a relation to its end; `between` changes the list after each page. */
async function walk(list: List, reseller: TestReseller, start: string, relation: string, between?: () => unknown) {
  const pages: (string | undefined)[][] = [];
  for (let target: string | undefined = start; target !== undefined; ) {
    const reply = await get(reseller, target);
    pages.push(namesIn(list, reply));
    target = linksOf(reply)[relation];
    await between?.();
  }
  return pages;
}

for (const list of lists) {
  const { path } = list;

  test(`${path}: an empty list is 200 with [], a total of 0 and nothing to follow`, async () => {
    const reseller = await gateway.addReseller();
    const reply = await get(reseller, path);
    assert.deepEqual(reply.body, []);
    assert.deepEqual(paging(reply), [0, 25, 0]);
    assert.deepEqual(Object.keys(linksOf(reply)), ["first"]);
    assert.deepEqual(paging(await get(reseller, `${path}?skip=5`)), [5, 25, 0]);
  });

  test(`${path}: skip defaults to 0 and take to 25, and take over 100 is reduced to 100`, async () => {
    const reseller = await gateway.addReseller();
    const names = named(reseller, 0, 130);
    await list.add(reseller, names.toReversed());
    for (const [query, skip, take] of [
      ["", 0, 25],
      ["?take=7", 0, 7],
      ["?skip=120", 120, 25],
      ["?skip=3&take=100", 3, 100],
      ["?take=101", 0, 100],
      ["?take=99999&skip=30", 30, 100],
      ["?take=999999999", 0, 100],
      ["?skip=130", 130, 25],
      ["?skip=999999999", 999_999_999, 25],
      ["?skip=%31%30", 10, 25],
      // Programs for the service interface may send what it does not have; /domains/departures is not part of it.
      [path === "/domains/departures" ? "" : "?unknown=1&unknown=2", 0, 25],
    ] as const) {
      const reply = await get(reseller, path + query);
      assert.deepEqual(namesIn(list, reply), names.slice(skip, skip + take), query);
      assert.deepEqual(paging(reply), [skip, take, 130], query);
    }
  });

  test(`${path}: any other form of skip, take or cursor is refused`, async () => {
    const reseller = await gateway.addReseller();
    const values = [
      "",
      "-1",
      "+1",
      "1.0",
      "1e3",
      "0x10",
      "01",
      " 1",
      "1 ",
      "٣",
      "1234567890",
      "NaN",
      "null",
      "1,2",
      "%00",
    ];
    const queries = [
      ...values.flatMap((value) => [`skip=${value}`, `take=${value}`, `cursor=${value}`].map(encodeURI)),
      ...[
        "take=0",
        "skip=1&skip=1",
        "take=1&take=1",
        "skip",
        "take",
        "cursor=00&cursor=00",
        "cursor=zz",
        "skip[]=1&skip=x",
      ],
      `cursor=${"0".repeat(200)}`,
    ];
    for (const query of queries) {
      const reply = await gateway.send(reseller, "GET", `${path}?${query}`);
      assertError(reply, "invalid_paging_request");
      assert.equal(reply.headers["x-paging-take"], undefined);
    }
  });

  test(`${path}: links walk the whole list forwards and backwards, and count what was skipped`, async () => {
    const reseller = await gateway.addReseller();
    const names = named(reseller, 0, 23);
    await list.add(reseller, names);
    const pages = await walk(list, reseller, `${path}?take=10`, "next");
    assert.deepEqual(pages, [names.slice(0, 10), names.slice(10, 20), names.slice(20)]);

    const first = await get(reseller, `/v1${path}?take=10`);
    assert.ok(linksOf(first).next?.startsWith(`/v1${path}?`));
    const second = await get(reseller, linksOf(first).next ?? "");
    const third = await get(reseller, linksOf(second).next ?? "");
    assert.deepEqual(
      [paging(second), paging(third)],
      [
        [10, 10, 23],
        [20, 10, 23],
      ],
    );
    assert.equal(linksOf(third).next, undefined);
    const back = await get(reseller, linksOf(third).prev ?? "");
    assert.deepEqual(namesIn(list, back), names.slice(10, 20));
    assert.deepEqual(paging(back), [10, 10, 23]);
    const start = await get(reseller, linksOf(back).prev ?? "");
    assert.deepEqual(namesIn(list, start), names.slice(0, 10));
    assert.deepEqual([linksOf(start).prev, paging(start)], [undefined, [0, 10, 23]]);
    assert.deepEqual(namesIn(list, await get(reseller, linksOf(third).first ?? "")), names.slice(0, 10));
  });

  test(`${path}: rows that are added or removed in the meantime never make a walk skip or repeat another row`, async () => {
    const reseller = await gateway.addReseller();
    const kept = named(reseller, 100, 200);
    await list.add(reseller, kept);
    const passing = [...named(reseller, 0, 40), ...named(reseller, 200, 240), ...kept.map((name) => `m${name}`)];
    let isThere = false;
    const change = async () => {
      if (isThere) await list.remove(passing);
      else await list.add(reseller, passing);
      isThere = !isThere;
    };
    for (const [start, relation] of [
      [`${path}?take=9`, "next"],
      [`${path}?skip=90&take=10`, "prev"],
    ] as const) {
      const seen = (await walk(list, reseller, start, relation, change)).flat();
      assert.equal(new Set(seen).size, seen.length, "a row was repeated");
      const seenKept = seen.filter((name) => kept.includes(name ?? ""));
      assert.deepEqual(seenKept.toSorted(), kept, "a row was skipped");
      if (isThere) await change();
    }
  });

  test(`${path}: a cursor continues after its row, even if that row is gone`, async () => {
    const reseller = await gateway.addReseller();
    const names = named(reseller, 0, 6);
    await list.add(reseller, names);
    const { next } = linksOf(await get(reseller, `${path}?take=3`));
    await list.remove([names[2] ?? ""]);
    const reply = await get(reseller, next ?? "");
    assert.deepEqual(namesIn(list, reply), names.slice(3));
    assert.deepEqual(paging(reply), [2, 3, 5]);
  });

  test(`${path}: a cursor works unchanged for its reseller and its list, and never with skip`, async () => {
    const reseller = await gateway.addReseller();
    const rival = await gateway.addReseller();
    for (const owner of [reseller, rival]) await list.add(owner, named(owner, 0, 3));
    const next = linksOf(await get(reseller, `${path}?take=1`)).next ?? "";
    const other = lists.find((candidate) => candidate !== list)?.path ?? "";
    const flipped = next.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
    assertError(await gateway.send(rival, "GET", next), "invalid_paging_request");
    for (const target of [next.replace(path, other), `${next}&skip=0`, flipped, `${next}00`, next.slice(0, -2)]) {
      assertError(await gateway.send(reseller, "GET", target), "invalid_paging_request");
    }
    assert.equal(paging(await get(reseller, next.replace("take=1", "take=2")))[1], 2);
  });

  test(`${path}: a reseller sees its own rows only, in byte order`, async () => {
    const reseller = await gateway.addReseller();
    await list.add(
      await gateway.addReseller(),
      ["between.example"].map((name) => `b${path.length}${name}`),
    );
    const suffix = `-${reseller.id}.example`;
    const names = ["a", "a-b", "a0", "ab", "xn--mller-kva", "z9"].map((name) => name + suffix).toSorted();
    await list.add(reseller, names.toReversed());
    const reply = await get(reseller, path);
    assert.deepEqual(namesIn(list, reply), names);
  });
}

test("/hostingaccounts: a failed account is not listed and not counted", async () => {
  const reseller = await gateway.addReseller();
  const [, accounts] = lists;
  await accounts?.add(reseller, ["ready.example"]);
  await (accounts as (typeof lists)[1]).add(reseller, ["failed.example"], "Failed");
  const reply = await get(reseller, "/hostingaccounts");
  assert.deepEqual(paging(reply), [0, 25, 1]);
  assert.equal((reply.body as { identifier: string }[])[0]?.identifier, "ready.example");
  const failed = await get(reseller, "/hostingaccounts/failed.example");
  assert.equal((failed.body as { status: string }).status, "Failed");
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET status = 'Failed' WHERE identifier = 'ready.example'");
  assert.deepEqual(paging(await get(reseller, "/hostingaccounts")), [0, 25, 0]);
});
