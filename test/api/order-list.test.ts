import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { seededRandom } from "../harness/seeded-random.ts";
import type { Reply } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { worker: false });

interface ListedOrder {
  order_code: string;
  kind: string;
  domain_name: string;
  status: string;
  created_at: string;
}

const live = ["NotProvisioned", "Processing", "Pending"];
const ended = ["Finished", "Errors", "FailedValidation", "Cancelled"];
const namesCount = 7;
let codesMade = 0;

const codeOf = (prefix: string, owner: TestReseller) =>
  `${prefix}-${String(++codesMade).padStart(8, "0")}-${String(owner.id).padStart(3, "0")}`;

/** The rows of `count` orders, some of them at the same moment. */
function makeOrders(owner: TestReseller, count: number, random: (limit: number) => number): ListedOrder[] {
  const own = Array.from({ length: count }, (): ListedOrder => {
    const [prefix, kind] = [
      ["REG", "create"],
      ["CHG", "transfer-lock"],
      ["REN", "renew"],
      ["CHG", "delete"],
    ][random(4)] as [string, string];
    const statuses = [...live, ...ended, "Finished"];
    const status = statuses[random(statuses.length)]!;
    const isLiveCreate = live.includes(status) && prefix !== "CHG";
    const order_code = codeOf(prefix, owner);
    // Only one order that has not ended registers or renews a name.
    const domain_name = isLiveCreate
      ? `${order_code.toLowerCase()}.example`
      : `n${random(namesCount)}-${owner.id}.example`;
    const created_at = new Date(Date.UTC(2026, 0, 1, 0, 0, random(count / 2))).toISOString();
    return { order_code, kind, domain_name, status, created_at };
  });
  return own.toSorted(newestFirst);
}

const newestFirst = (one: ListedOrder, other: ListedOrder) =>
  other.created_at.localeCompare(one.created_at) || (other.order_code < one.order_code ? -1 : 1);

async function insert(owner: TestReseller, orders: readonly ListedOrder[]): Promise<void> {
  const of = (...prefixes: string[]) =>
    JSON.stringify(orders.filter(({ order_code }) => prefixes.includes(order_code.slice(0, "REG".length))));
  const rows =
    "json_to_recordset($2) AS added (order_code text, kind text, domain_name text, status text, created_at timestamptz)";
  const endedAt = `CASE WHEN status = ANY ('{${ended.join(",")}}') THEN created_at END`;
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, period_years,
       auth_info_sealed, status, phase, reason, created_at, updated_at, ended_at)
     SELECT order_code, $1, domain_name, 'example', 'none', 1, '', status, CASE status WHEN 'Processing' THEN 'create' END,
       'a reason', created_at, created_at, ${endedAt} FROM ${rows}`,
    [owner.id, of("REG")],
  );
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status, phase,
       created_at, updated_at, ended_at)
     SELECT order_code, $1, domain_name, 'none', kind, '{}', false, status, CASE status WHEN 'Processing' THEN 'send' END,
       created_at, created_at, ${endedAt} FROM ${rows}`,
    [owner.id, of("CHG", "REN")],
  );
}

async function get(target: string, as: TestReseller): Promise<Reply> {
  const reply = await gateway.send(as, "GET", target);
  assert.equal(reply.status, 200, reply.text);
  assertFullForm(reply);
  return reply;
}
const codesIn = (reply: Reply) => (reply.body as ListedOrder[]).map(({ order_code }) => order_code);
const totalOf = ({ headers }: Reply) => Number(headers["x-paging-totalresults"]);
const skippedOf = ({ headers }: Reply) => Number(headers["x-paging-skipped"]);
const linkOf = (reply: Reply, relation: string) =>
  new RegExp(`<([^>]*)>; rel="${relation}"`).exec(reply.headers.link ?? "")?.[1];

const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const orders = makeOrders(reseller, 300, seededRandom(1));
await insert(reseller, orders);
await insert(rival, makeOrders(rival, 50, seededRandom(2)));
// A term is no order, in whatever way it ends.
await runSql(
  gateway.databaseUrl,
  `INSERT INTO renewals (renewal_code, reseller_id, domain_name, registry_id, period_years, term_ends_at, due_at, status,
     next_step_at, list_key, created_at, updated_at, ended_at)
   VALUES ('REN-SCHEDVLE-001', $1, 'n1-${reseller.id}.example', 'none', 1, now(), now(), 'Scheduled', now(), 'x', now(), now(), NULL),
     ('REN-ENDED000-001', $1, 'n2-${reseller.id}.example', 'none', 1, now(), now(), 'Ended', now(), 'y', now(), now(), now())`,
  [reseller.id],
);

const kinds = ["create", "transfer-lock", "renew", "delete"];
const filters: Record<string, string>[] = [
  {},
  ...kinds.map((kind) => ({ kind })),
  ...[...live, ...ended].map((status) => ({ status })),
  ...kinds.flatMap((kind) => ["Processing", "Pending", "Finished", "Errors"].map((status) => ({ kind, status }))),
  { domain_name: `n3-${reseller.id}.example` },
  { domain_name: `n3-${reseller.id}.example`, kind: "renew" },
  { domain_name: `n3-${reseller.id}.example`, status: "Errors" },
  { domain_name: "nobodys.example" },
];

test("every filter lists those orders and no others, newest first, with the exact total, by skip and by links in both directions", async () => {
  for (const filter of filters) {
    const query = new URLSearchParams(filter).toString();
    const wanted = orders
      .filter((order) => Object.entries(filter).every(([field, value]) => order[field as keyof ListedOrder] === value))
      .map(({ order_code }) => order_code);
    const whole = await get(`/orders?${query}&take=100&skip=1`, reseller);
    assert.deepEqual([codesIn(whole), totalOf(whole)], [wanted.slice(1, 101), wanted.length], query);
    const beyond = await get(`/orders?${query}&skip=9999`, reseller);
    assert.deepEqual([codesIn(beyond), totalOf(beyond)], [[], wanted.length], query);
    const pages: string[][] = [];
    let last: Reply | undefined;
    for (let target: string | undefined = `/orders?${query}&take=23`; target !== undefined; ) {
      last = await get(target, reseller);
      assert.deepEqual([totalOf(last), skippedOf(last)], [wanted.length, pages.length * 23], query);
      pages.push(codesIn(last));
      target = linkOf(last, "next");
    }
    assert.deepEqual(pages.flat(), wanted, query);
    for (let place = pages.length - 2; place >= 0; place--) {
      last = await get(linkOf(last!, "prev")!, reseller);
      assert.deepEqual([codesIn(last), skippedOf(last)], [pages[place], place * 23], query);
    }
    assert.equal(linkOf(last!, "prev"), undefined, query);
  }
});

test("an order in the list is what its own address answers", async () => {
  const reply = await get("/orders?take=60", reseller);
  for (const listed of reply.body as ListedOrder[]) {
    assert.deepEqual(listed, (await get(`/orders/${listed.order_code}`, reseller)).body);
  }
});

test("kinds and statuses are read in any case, and a name in any spelling", async () => {
  const one = orders.find(({ kind, status }) => kind === "create" && status === "Finished")!;
  const name = one.domain_name.toUpperCase();
  const reply = await get(`/orders?domain_name=${name}.&kind=CREATE&status=fInIsHeD&take=100`, reseller);
  assert.ok(codesIn(reply).includes(one.order_code));
});

test("a cursor is valid for the filter that it comes from, and for its reseller", async () => {
  const next = linkOf(await get("/orders?kind=create&take=1", reseller), "next") ?? "";
  await get(next, reseller);
  assertError(await gateway.send(rival, "GET", next), "invalid_paging_request");
  const cursor = new URL(next, "http://localhost").searchParams.get("cursor");
  for (const filter of ["", "kind=renew", "kind=create&status=Finished", `domain_name=n3-${reseller.id}.example`]) {
    assertError(await gateway.send(reseller, "GET", `/orders?${filter}&cursor=${cursor}`), "invalid_paging_request");
  }
});

test("orders that come meanwhile neither shift nor repeat what the links lead to", async () => {
  const owner = await gateway.addReseller();
  const own = makeOrders(owner, 40, seededRandom(3));
  await insert(owner, own);
  let page = await get("/orders?take=10", owner);
  const followed = codesIn(page);
  const moment = "2027-01-01T00:00:00.000Z";
  const late = [{ ...own[0]!, order_code: codeOf("CHG", owner), kind: "transfer-lock", created_at: moment }];
  await insert(owner, late);
  for (let target = linkOf(page, "next"); target !== undefined; target = linkOf(page, "next")) {
    page = await get(target, owner);
    assert.equal(totalOf(page), 41);
    followed.push(...codesIn(page));
  }
  assert.deepEqual(
    followed,
    own.map(({ order_code }) => order_code),
  );
});

test("a skip beyond the limit is refused with the advice to follow the links", async () => {
  await get("/orders?skip=10000", reseller);
  const reply = await gateway.send(reseller, "GET", "/orders?skip=10001");
  assertError(reply, "invalid_paging_request");
  assert.match(reply.text, /follow the links/);
});

test("transactions that end orders at the same moment do not wait for each other, and every order is counted", async () => {
  const owner = await gateway.addReseller();
  const rows = makeOrders(owner, 200, seededRandom(4)).map((order): ListedOrder => {
    return { ...order, order_code: codeOf("CHG", owner), kind: "transfer-lock", status: "NotProvisioned" };
  });
  await insert(owner, rows);
  const totals = async () =>
    Promise.all(
      ["", "status=NotProvisioned", "status=Finished"].map(async (query) =>
        totalOf(await get(`/orders?${query}`, owner)),
      ),
    );
  assert.deepEqual(await totals(), [200, 200, 0]);
  const { database } = gateway.context;
  const finish = (codes: string[]) =>
    `UPDATE orders SET status = 'Finished', ended_at = now() WHERE order_code IN ('${codes.join("', '")}')`;
  const codes = rows.map(({ order_code }) => order_code);
  await database.transaction(async (first) => {
    await first.raw.query(finish(codes.slice(0, 50)));
    await database.transaction(async (second) => {
      await second.raw.query(finish(codes.slice(50, 120)));
      await database.transaction((third) => third.raw.query(finish(codes.slice(120, 121))));
      assert.deepEqual(await totals(), [200, 199, 1]);
    });
    assert.deepEqual(await totals(), [200, 129, 71]);
  });
  assert.deepEqual(await totals(), [200, 79, 121]);
  const undone = database.transaction(async (tx) => {
    await tx.raw.query(finish(codes.slice(121)));
    throw new Error("undone");
  });
  await assert.rejects(undone, /undone/);
  assert.deepEqual(await totals(), [200, 79, 121]);
});
