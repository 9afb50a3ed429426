import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import type { Reply } from "../harness/signed-request.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();

/** Names with an expiry in the year 2030 and a wish to renew. */
const add = (owner: TestReseller, names: [name: string, expiresAt: string, willRenew: boolean][]) =>
  insertDomains(
    gateway.databaseUrl,
    owner,
    names.map(([name, expiresAt, willRenew]) => ({ name, expiresAt, willRenew })),
  );
await add(reseller, [
  ["shop.example", "2030-03-01T00:00:00Z", true],
  ["shop-a.example", "2030-01-31T23:59:59.999Z", false],
  ["shop-b.example", "2030-02-01T00:00:00Z", false],
  ["shoq.example", "2030-01-01T00:00:00Z", true],
  ["sho.example", "2030-06-01T00:00:00Z", false],
]);
await add(rival, [["shop-rival.example", "2030-01-01T00:00:00Z", false]]);

async function get(target: string, as = reseller): Promise<Reply> {
  const reply = await gateway.send(as, "GET", target);
  assert.equal(reply.status, 200, reply.text);
  assertFullForm(reply);
  return reply;
}
const namesOf = (reply: Reply) => (reply.body as { domain_name: string }[]).map(({ domain_name }) => domain_name);
const totalOf = ({ headers }: Reply) => Number(headers["x-paging-totalresults"]);
const linkOf = (reply: Reply, relation: string) =>
  new RegExp(`<([^>]*)>; rel="${relation}"`).exec(reply.headers.link ?? "")?.[1];

test("both forms of the API take the filters, and link to their own pages", async () => {
  const page = await get("/v2/domains?will_renew=false&name_prefix=shop&take=1");
  assert.deepEqual(page.body, [
    { domain_name: "shop-a.example", expiration_date: "2030-01-31T23:59:59Z", will_renew: false },
  ]);
  const next = linkOf(page, "next") ?? "";
  assert.match(next, /^\/v2\/domains\?name_prefix=shop&will_renew=false&/);
  assert.deepEqual(namesOf(await get(next)), ["shop-b.example"]);
});

for (const [filter, names] of [
  ["name_prefix=shop", ["shop-a.example", "shop-b.example", "shop.example"]],
  ["name_prefix=SHOP.", ["shop.example"]],
  ["name_prefix=z", []],
  ["expires_before=2030-02-01", ["shop-a.example", "shoq.example"]],
  ["expires_before=2030-02-01T00:00:00.001Z", ["shop-a.example", "shop-b.example", "shoq.example"]],
  ["expires_before=2030-02-01T01:00:01%2B01:00", ["shop-a.example", "shop-b.example", "shoq.example"]],
  ["will_renew=true", ["shop.example", "shoq.example"]],
  ["will_renew=false", ["sho.example", "shop-a.example", "shop-b.example"]],
  ["will_renew=false&expires_before=2030-06-01&name_prefix=shop-", ["shop-a.example", "shop-b.example"]],
] as [string, string[]][]) {
  test(`${filter} selects those names of the caller, and the total is theirs`, async () => {
    const reply = await get(`/domains?${filter}`);
    assert.deepEqual(namesOf(reply), names);
    assert.equal(totalOf(reply), names.length);
    const beyond = await get(`/domains?${filter}&skip=10`);
    assert.deepEqual([namesOf(beyond), totalOf(beyond)], [[], names.length]);
  });
}

test("the links of a filtered list lead through all of its pages and back, with exact counts", async () => {
  const owner = await gateway.addReseller();
  const numbered = Array.from({ length: 250 }, (_, index) => `n${String(index).padStart(3, "0")}-link.example`);
  await add(
    owner,
    numbered.map((name, index) => [name, "2030-01-01T00:00:00Z", index % 3 !== 0]),
  );
  const wanted = numbered.slice(100, 200).filter((_, index) => (index + 100) % 3 === 0);
  const pages: string[][] = [];
  const first = "/v1/domains?name_prefix=n1&will_renew=false&expires_before=2031-01-01&take=10";
  let last = "";
  for (let target: string | undefined = first; target !== undefined; ) {
    const reply: Reply = await get(target, owner);
    assert.equal(totalOf(reply), wanted.length);
    assert.equal(reply.headers["x-paging-skipped"], String(pages.length * 10));
    pages.push(namesOf(reply));
    last = linkOf(reply, "prev") ?? "";
    target = linkOf(reply, "next");
  }
  assert.deepEqual(pages.flat(), wanted);
  const back = await get(last, owner);
  assert.deepEqual(namesOf(back), pages.at(-2));
  assert.equal(back.headers["x-paging-skipped"], String((pages.length - 2) * 10));
});

test("a cursor is valid for the filter that it comes from, and for no other", async () => {
  const next = linkOf(await get("/domains?will_renew=false&take=1"), "next") ?? "";
  await get(next);
  const { searchParams } = new URL(next, "http://localhost");
  const cursor = searchParams.get("cursor");
  for (const filter of ["", "will_renew=true", "will_renew=false&name_prefix=s", "name_prefix=s"]) {
    assertError(await gateway.send(reseller, "GET", `/domains?${filter}&cursor=${cursor}`), "invalid_paging_request");
  }
  const whole = new URL(linkOf(await get("/domains?take=1"), "next") ?? "", "http://localhost");
  const swapped = `/domains?will_renew=false&cursor=${whole.searchParams.get("cursor")}`;
  assertError(await gateway.send(reseller, "GET", swapped), "invalid_paging_request");
});
