import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { giveNames, type Stage, setWillRenew, startStage, untilRenewalIs } from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

interface ListedRenewal {
  domain_name: string;
  expiration_date: string;
  will_renew: boolean;
  status: string;
  due_at: string;
  renewed_until?: string;
}

async function list(gateway: TestGateway, reseller: TestReseller, query = "") {
  const { status, body, headers, text } = await gateway.send(reseller, "GET", `/renewals${query}`);
  assert.equal(status, 200, text);
  return { rows: body as ListedRenewal[], headers };
}

/** Gives the reseller names whose terms end in this many days, and waits until all of them are listed. */
async function giveEnding({ gateway }: Stage, reseller: TestReseller, days: Record<string, number>) {
  const nowMs = Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000;
  const ending = Object.entries(days).map(
    ([name, inDays]) => [name, { expirationDate: new Date(nowMs + inDays * dayMs) }] as const,
  );
  await giveNames(gateway, reseller, new Map(ending));
  for (const name of Object.keys(days)) await untilRenewalIs(gateway, name, days[name]! > 30 ? "Scheduled" : "Renewed");
  return new Map(ending.map(([name, { expirationDate }]) => [name, expirationDate.toISOString()]));
}

test("the list shows scheduled, current and ended renewals by the end of the term", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const ends = await giveEnding(stage, reseller, { "zeta.example": 40, "alpha.example": 80, "done.example": 10 });
  await giveNames(gateway, reseller, new Map([["far.example", { expirationDate: new Date("2099-01-01") }]]));
  await setWillRenew(stage, "alpha.example", false);
  const { rows, headers } = await list(gateway, reseller);
  assert.deepEqual(
    rows.map(({ domain_name, status, will_renew }) => [domain_name, status, will_renew]),
    [
      ["done.example", "Renewed", true],
      ["zeta.example", "Scheduled", true],
      ["alpha.example", "Scheduled", false],
    ],
  );
  assert.equal(headers["x-paging-totalresults"], "3");
  const [done, zeta] = rows;
  assert.equal(zeta?.expiration_date, ends.get("zeta.example"));
  assert.equal(Date.parse(zeta!.expiration_date) - Date.parse(zeta!.due_at), 30 * dayMs);
  assert.equal(done?.renewed_until, gateway.registry.store.domains.find("done.example")?.exDate);
});

test("a status filter is case-insensitive, and its pages have no gaps", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const days = Object.fromEntries(Array.from({ length: 7 }, (_, index) => [`n${index}.example`, 40 + index]));
  await giveEnding(stage, reseller, { ...days, "done.example": 10 });
  const { rows, headers } = await list(gateway, reseller, "?status=scheduled&skip=2&take=3");
  assert.deepEqual(
    rows.map(({ domain_name }) => domain_name),
    ["n2.example", "n3.example", "n4.example"],
  );
  assert.deepEqual(
    ["skipped", "take", "totalresults"].map((name) => headers[`x-paging-${name}`]),
    ["2", "3", "7"],
  );
  const next = /<\/renewals(\?[^>]*)>; rel="next"/.exec(headers.link ?? "")?.[1] ?? "";
  assert.match(next, /status=Scheduled&/);
  const last = await list(gateway, reseller, next);
  assert.deepEqual(
    last.rows.map(({ domain_name }) => domain_name),
    ["n5.example", "n6.example"],
  );
  // A cursor belongs to the list that it came from.
  const elsewhere = await gateway.send(reseller, "GET", `/renewals${next.replace("status=Scheduled&", "")}`);
  assertError(elsewhere, "invalid_paging_request");
});

test("a reseller never sees another's renewals", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const rival = await gateway.addReseller();
  await giveEnding(stage, reseller, { "mine.example": 40 });
  await giveEnding(stage, rival, { "theirs.example": 40, "done.example": 10 });
  for (const query of ["", "?status=Scheduled"]) {
    const { rows, headers } = await list(gateway, reseller, query);
    assert.deepEqual(
      rows.map(({ domain_name }) => domain_name),
      ["mine.example"],
    );
    assert.equal(headers["x-paging-totalresults"], "1");
  }
  assert.deepEqual((await list(gateway, reseller, "?status=Renewed")).rows, []);
});
