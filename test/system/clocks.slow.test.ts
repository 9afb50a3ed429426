/**
 * One of two machines has a wrong clock. libfaketime gives a process a time of day of its own; durations stay right, as when
 * NTP does not run.
 */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sleep, unixSeconds } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, until } from "../orders/judge.ts";
import { startWithWorkers } from "../orders/worker-process.ts";

const [library] = globSync("/usr/lib/*/faketime/libfaketime.so.1");
const skip = library === undefined && "libfaketime is not installed";
/** Seconds that a signature is valid before and after its time. */
const windowSeconds = 300;
/** An alarm until NTP has set the clock; from 30 s on the database is refused. */
const [tolerated, wrong, refused] = [1, 10, 400] as const;
const leaseMs = 10_000;
const [looksMax, lookEveryMs] = [300, 500];

const inDatabase = { DEEDHOUSE_NONCES: "database", DEEDHOUSE_SOURCE_FAILURES_MAX: "10000" };
const faked = { LD_PRELOAD: String(library), DONT_FAKE_MONOTONIC: "1" };
const asFaketime = (seconds: number) => `${seconds < 0 ? "" : "+"}${seconds}s`;
const ahead = (seconds: number) => ({ ...faked, FAKETIME: asFaketime(seconds) });

const send = (
  api: ApiProcess,
  { context }: TestGateway,
  { key }: TestReseller,
  request: Partial<SignedRequestOptions>,
) => sendSigned({ url: api.url, key, clock: context.clock, method: "GET", target: "/domains", ...request });

const clockAlarms = ({ databaseUrl }: TestGateway) =>
  runSql<{ note: string }>(databaseUrl, "SELECT note FROM alarms WHERE kind = 'clock' AND resolved_at IS NULL");

/** @returns what `/readyz` says once it has this status, which it gets within a minute: then the api looks at both clocks */
async function untilReady({ url }: ApiProcess, status: number): Promise<string> {
  for (let looks = 0; looks < looksMax; looks++) {
    const response = await fetch(`${url}/readyz`);
    const text = await response.text();
    if (response.status === status) return text;
    await sleep(lookEveryMs);
  }
  return assert.fail(`/readyz is not ${status}`);
}

for (const seconds of [tolerated, -tolerated, wrong, -wrong]) {
  test(`two apis, one ${seconds} s ahead, answer no request twice, and none outside both windows`, {
    skip,
  }, async (t) => {
    const gateway = await startTestGateway(t, { worker: false });
    const reseller = await gateway.addReseller();
    const right = await startApiProcess(t, gateway, gateway.databaseUrl, inDatabase);
    const other = await startApiProcess(t, gateway, gateway.databaseUrl, { ...inDatabase, ...ahead(seconds) });
    assert.equal((await clockAlarms(gateway)).length, Math.abs(seconds) < wrong ? 0 : 1);

    const now = unixSeconds(gateway.context.clock);
    const isIn = (second: number, clockSeconds: number) => Math.abs(second - now - clockSeconds) < windowSeconds - 20;
    const isOut = (second: number, clockSeconds: number) => Math.abs(second - now - clockSeconds) > windowSeconds + 20;
    for (let second = now - windowSeconds - 60; second <= now + windowSeconds + 60; second += 5) {
      const twin = { nonce: newNonce(), timestamp: second };
      const apis = second % 2 === 0 ? [right, other] : [other, right];
      const replies = await Promise.all(apis.map((api) => send(api, gateway, reseller, twin)));
      const answered = replies.filter(({ status }) => status === 200).length;
      const about = `signed ${second - now} s from now: ${replies.map(({ status, text }) => `${status} ${text}`).join()}`;
      assert.ok(answered <= 1, about);
      if (isIn(second, 0) || isIn(second, seconds)) assert.equal(answered, 1, about);
      if (isOut(second, 0) && isOut(second, seconds)) assert.equal(answered, 0, about);
    }
  });
}

test("an api whose clock becomes wrong by minutes answers nothing, until its clock is right again", {
  skip,
}, async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-clock-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "faketime");
  const set = (seconds: number) => writeFile(file, asFaketime(seconds));
  await set(0);
  const steered = { ...faked, FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1" };
  const right = await startApiProcess(t, gateway, gateway.databaseUrl, inDatabase);
  const api = await startApiProcess(t, gateway, gateway.databaseUrl, { ...inDatabase, ...steered });
  assert.equal((await send(api, gateway, reseller, {})).status, 200);

  await set(refused);
  const now = unixSeconds(gateway.context.clock);
  const twin = { nonce: newNonce(), timestamp: now + windowSeconds - 10 };
  assert.equal((await send(right, gateway, reseller, twin)).status, 200);
  assert.notEqual((await send(api, gateway, reseller, twin)).status, 200, "the other api answered it");
  assert.match(await untilReady(api, 503), /clock/);
  for (const timestamp of [now, now + refused]) {
    assert.equal((await send(api, gateway, reseller, { timestamp })).status, 503);
  }

  await set(0);
  await untilReady(api, 200);
  assert.equal((await send(api, gateway, reseller, {})).status, 200);
});

test("an api and a worker do not start while their clock is wrong by minutes", { skip }, async (t) => {
  const { gateway, start } = await startWithWorkers(t);
  const clock = ahead(refused);
  await assert.rejects(startApiProcess(t, gateway, gateway.databaseUrl, { ...inDatabase, ...clock }), /ended during/);
  await assert.rejects(start({ environment: clock }), /could not be started/);
});

for (const seconds of [wrong, -wrong]) {
  test(`workers, one ${seconds} s ahead: each keeps the registry's lease, and one that stands still loses it`, {
    skip,
  }, async (t) => {
    const { gateway, start } = await startWithWorkers(t);
    const reseller = await gateway.addReseller();
    const lease = async () => {
      const [row] = await runSql<{ epoch: number; holder: string }>(
        gateway.databaseUrl,
        "SELECT epoch::int AS epoch, holder FROM registry_leases WHERE expires_at > now()",
      );
      return row;
    };
    const keeps = async () => {
      const before = await lease();
      await sleep(1.5 * leaseMs);
      assert.deepEqual(await lease(), before);
    };
    const orders: { name: string }[] = [];
    const works = async (name: string) => {
      const order = await place(gateway, reseller, name);
      await assertEnds(gateway, reseller, order, "Finished");
      orders.push(order);
    };
    const first = await start({ environment: ahead(seconds) });
    await until("it owns the registry", async () => (await lease()) !== undefined);
    await start();
    await works("first.example");
    await keeps();
    const before = (await lease())!;
    first.freeze();
    await until("the other one owns it", async () => ((await lease())?.epoch ?? 0) > before.epoch);
    first.thaw();
    await works("second.example");
    await keeps();
    for (const { name } of orders) assert.equal(creates(gateway, name).length, 1);
  });
}
