import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import type { Reply } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const clock = createManualClock(1_900_000_000);
const gateway = await startTestGateway({ after }, { clock, worker: false });
const limits = ({ headers }: Reply) =>
  ["limit", "usage", "remaining", "reset"].map((name) => Number(headers[`x-ratelimit-${name}`]));

test("usage counts this request, remaining is the rest, and reset counts down the seconds", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 3 });
  const get = () => gateway.send(reseller, "GET", "/domains");
  assert.deepEqual(limits(await get()), [3, 1, 2, 60]);
  clock.advance(10_500);
  assert.deepEqual(limits(await get()), [3, 2, 1, 50]);
  clock.advance(40_000);
  assert.deepEqual(limits(await get()), [3, 3, 0, 10]);
});

test("over the limit: 429 with its phrase and retry-after, usage stops at the limit, nothing is done", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 2 });
  const pack = await gateway.addPack();
  for (let times = 0; times < 2; times++) await gateway.send(reseller, "GET", "/domains");
  for (let times = 0; times < 5; times++) {
    const reply = await gateway.send(reseller, "POST", "/hostingaccounts", {
      body: { servicepack_id: pack, identifier: "limited.example", password: "12characters" },
    });
    assertError(reply, "rate_limit_exceeded");
    assert.equal(reply.statusMessage, "Too many requests, retry later.");
    assert.deepEqual(limits(reply), [2, 2, 0, 60]);
    assert.equal(reply.headers["retry-after"], "60");
  }
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM hosting_accounts"), []);
  clock.advance(60_000);
  assert.deepEqual(limits(await gateway.send(reseller, "GET", "/domains")), [2, 1, 1, 60]);
});

test("all keys of a reseller share its limit; the default is 100", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 100 });
  const second = await gateway.addKey(reseller);
  assert.deepEqual(limits(await gateway.send(reseller, "GET", "/domains")).slice(0, 2), [100, 1]);
  assert.deepEqual(limits(await gateway.send(second, "GET", "/domains")).slice(0, 2), [100, 2]);
});

test("one reseller's flood does not affect another", async () => {
  const flooding = await gateway.addReseller({ rateLimit: 5 });
  const calm = await gateway.addReseller({ rateLimit: 5 });
  const replies = await Promise.all(Array.from({ length: 60 }, () => gateway.send(flooding, "GET", "/domains")));
  assert.equal(replies.filter(({ status }) => status === 200).length, 5);
  assert.equal(replies.filter(({ status }) => status === 429).length, 55);
  assert.deepEqual(limits(await gateway.send(calm, "GET", "/domains")), [5, 1, 4, 60]);
});
