/** What several apis on one database count together: requests of resellers, and failures of sources. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import { migrate } from "#db/migrate.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { type Reply, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { countWaitingForStandby, runSql } from "../harness/sql.ts";
import { startOwnServer } from "../harness/standby.ts";

const inDatabase = { DEEDHOUSE_NONCES: "database", DEEDHOUSE_SOURCE_FAILURES_MAX: "40" };
const failuresMax = 40;
/** What an api may let through before it knows the sum of all. */
const aheadMax = 16;
const windows = 100;
const limit = 12;
const requestsPerApi = 10;

const gateway = await startTestGateway({ after }, { worker: false });
const start = () => startApiProcess({ after }, gateway, gateway.databaseUrl, inDatabase);
const apis = [await start(), await start()] as const;

const sendTo = (
  api: ApiProcess,
  { key }: TestReseller,
  request: SignedRequestOptions & { method?: string; target?: string } = {},
) => sendSigned({ url: api.url, key, clock: gateway.context.clock, method: "GET", target: "/domains", ...request });

const usageOf = ({ headers }: Reply) => Number(headers["x-ratelimit-usage"]);

/** The usage of each of a reseller's windows. Almost always there is one; a minute may end during a test. */
async function windowsOf({ id }: TestReseller, url = gateway.databaseUrl): Promise<number[]> {
  const all = "SELECT usage FROM request_windows WHERE reseller_id = $1 ORDER BY window_number";
  return (await runSql<{ usage: number }>(url, all, [id])).map(({ usage }) => usage);
}

test("in 100 windows, two apis together never answer more than the limit, and not less", async () => {
  for (let number = 0; number < windows; number++) {
    const reseller = await gateway.addReseller({ rateLimit: limit });
    const replies = await Promise.all(
      apis.flatMap((api) => Array.from({ length: requestsPerApi }, () => sendTo(api, reseller))),
    );
    const answered = replies.filter(({ status }) => status === 200);
    const refused = replies.filter(({ status }) => status !== 200);
    for (const reply of refused) {
      assertError(reply, "rate_limit_exceeded");
      assert.equal(usageOf(reply), limit);
      assert.equal(reply.headers["retry-after"], reply.headers["x-ratelimit-reset"]);
    }
    const used = await windowsOf(reseller);
    assert.ok(
      used.every((usage) => usage <= limit),
      used.join(),
    );
    assert.equal(
      answered.length,
      used.reduce((sum, usage) => sum + usage, 0),
    );
    // Each answer has a place of its own in its window.
    const places = used.flatMap((usage) => Array.from({ length: usage }, (_, place) => place + 1));
    assert.deepEqual(
      answered.map(usageOf).toSorted((left, right) => left - right),
      places.toSorted((left, right) => left - right),
    );
    assert.ok(used.length > 1 || answered.length === limit, "nothing that the limit allows is refused");
  }
});

test("a request that counts as several counts as all of them or as none, whichever api gets it", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 10 });
  const check = (count: number) => {
    const names = Array.from({ length: count }, (_, number) => `name-${number}.nowhere`).join(",");
    return `/domains/availability?names=${names}`;
  };
  const sizes = [1, 3, 3, 4, 4, 1, 3, 2];
  const replies = await Promise.all(
    sizes.map((size, number) => sendTo(apis[number % 2]!, reseller, { target: check(size) })),
  );
  const used = await windowsOf(reseller);
  assert.ok(
    used.every((usage) => usage <= 10),
    used.join(),
  );
  // The first of several is counted alone, so a request that is refused may have counted as one.
  const answered = sizes.filter((_, number) => replies[number]!.status !== 429).reduce((sum, size) => sum + size, 0);
  const refused = replies.filter(({ status }) => status === 429).length;
  const sum = used.reduce((all, usage) => all + usage, 0);
  assert.ok(answered <= sum && sum <= answered + refused, `${answered} of ${sum}, ${refused} refused`);
});

test("an api obeys the failures that its neighbour has counted, after at most 16 of its own", async () => {
  const reseller = await gateway.addReseller();
  const fail = (api: ApiProcess, localAddress: string) =>
    sendTo(api, reseller, { authorization: "hmac nothing", localAddress });
  const source = "127.0.0.77";
  const replies = await Promise.all(
    Array.from({ length: 3 * failuresMax }, (_, number) => fail(apis[number % 2]!, source)),
  );
  const refused = replies.filter(({ status }) => status === 401).length;
  const [counted] = await runSql<{ windows: number }>(
    gateway.databaseUrl,
    "SELECT count(*)::int AS windows FROM failure_counts WHERE source = $1",
    [source],
  );
  const atMost = counted!.windows * (failuresMax + apis.length * aheadMax);
  assert.ok(refused <= atMost, `${refused} of at most ${atMost}`);

  // One after the other: each api knows the sum when it has added to it.
  const later = "127.0.0.78";
  let failures = 0;
  for (let number = 0; number < failuresMax; number++) {
    const reply = await fail(apis[0], later);
    if (reply.status === 401) failures++;
  }
  let last = await fail(apis[1], later);
  for (let times = 0; times < aheadMax && last.status === 401; times++) last = await fail(apis[1], later);
  const ended = await runSql(gateway.databaseUrl, "SELECT FROM failure_counts WHERE source = $1", [later]);
  if (ended.length === 1) assertError(last, "rate_limit_exceeded");
  assert.ok(failures > 0);
  assert.equal((await sendTo(apis[1], reseller)).status, 200, "another source has a budget of its own");
});

test("a request that cannot be counted gets 503, and the next one an answer", async (t) => {
  const reseller = await gateway.addReseller();
  const lock = new Client({ connectionString: gateway.databaseUrl });
  lock.on("error", () => {});
  await lock.connect();
  t.after(() => lock.end());
  await lock.query("BEGIN; LOCK TABLE request_windows IN ACCESS EXCLUSIVE MODE");
  assertError(await sendTo(apis[0], reseller), "service_unavailable");
  await lock.query("ROLLBACK");
  assert.equal((await sendTo(apis[0], reseller)).status, 200);
});

test("while commits wait for a lost replica, requests are counted, and those over the limit are refused", async (t) => {
  const server = await startOwnServer(t);
  await migrate(server.url);
  const own = await startTestGateway(t, { databaseUrl: server.url, worker: false });
  const reseller = await own.addReseller({ rateLimit: 2 });
  const api = await startApiProcess(t, own, server.url, inDatabase);
  assert.equal((await sendTo(api, reseller)).status, 200);
  await runSql(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'gone'");
  await runSql(server.url, "SELECT pg_reload_conf()");
  const waiting = sendTo(api, reseller);
  while ((await countWaitingForStandby(server.url)) === 0) await new Promise(setImmediate);
  // The nonce waits, and holds nothing that the next request needs.
  const over = await sendTo(api, reseller);
  assert.ok([429, 503].includes(over.status), over.text);
  if ((await windowsOf(reseller, server.url)).length === 1) assertError(over, "rate_limit_exceeded");
  await runSql(server.url, "ALTER SYSTEM RESET synchronous_standby_names");
  await runSql(server.url, "SELECT pg_reload_conf()");
  assert.ok([200, 503].includes((await waiting).status));
});
