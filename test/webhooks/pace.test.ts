import assert from "node:assert/strict";
import { after, test } from "node:test";
import { noteAnswers, takePlaces } from "#webhooks/pace.ts";
import { webhooksInTurn } from "#webhooks/turns.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runSql } from "../harness/sql.ts";

const clock = createManualClock(1_800_000_000);
const gateway = await startTestGateway({ after }, { worker: false, clock });
const { context, databaseUrl } = gateway;
const target = (reseller_id: number, url: string, is_verified = true) => ({ reseller_id, url, is_verified });

test("a host gets five requests at first, and thirty a second at most, of each account", async () => {
  const [one, other] = [await gateway.addReseller(), await gateway.addReseller()];
  const shop = target(one.id, "https://shop.example/a");
  const take = async (wanted: number) => (await takePlaces(context, shop, wanted)).granted;
  assert.deepEqual([await take(3), await take(20), await take(20)], [3, 2, 0]);
  const sameHost = await takePlaces(context, target(one.id, "https://shop.example:8443/b"), 1);
  assert.equal(sameHost.granted, 0, "it is one host for all webhooks of the account");
  assert.equal((await takePlaces(context, target(one.id, "https://other.example/"), 1)).granted, 1);
  assert.equal((await takePlaces(context, target(other.id, "https://shop.example/"), 1)).granted, 1);
  let sent = 0;
  let most = 0;
  for (let second = 0; second < 20; second++) {
    clock.advance(1_000);
    let granted = 0;
    for (let more = 1; more > 0; granted += more) more = await take(20);
    await noteAnswers(context, shop, granted);
    most = Math.max(most, granted);
    sent += granted;
  }
  assert.equal(most, 30);
  assert.ok(sent > 400 && sent <= 600, `${sent} in 20 s`);
});

test("who gets no place learns when to come back", async () => {
  const { id } = await gateway.addReseller();
  const shop = target(id, "https://shop.example/");
  const first = await takePlaces(context, shop, 20);
  assert.equal(first.granted, 5);
  clock.advance(first.nextAt!.getTime() - clock.now().getTime());
  assert.equal((await takePlaces(context, shop, 15)).granted, 5);
  assert.deepEqual(await takePlaces(context, shop, 0), { granted: 0, nextAt: undefined });
});

test("an account tests ten URLs at once, and then one in five seconds, whatever their hosts", async () => {
  const { id } = await gateway.addReseller();
  const test = async (index: number) =>
    (await takePlaces(context, target(id, `https://n${index}.example/`, false), 1)).granted;
  const grants: number[] = [];
  for (let index = 0; index < 20; index++) grants.push(await test(index));
  assert.equal(grants.filter((granted) => granted === 1).length, 10);
  let more = 0;
  for (let second = 0; second < 60; second++) {
    clock.advance(1_000);
    more += await test(second);
  }
  assert.equal(more, 12);
});

test("webhooks of one account take four places, and another account's comes first", async () => {
  const [greedy, victim] = [await gateway.addReseller(), await gateway.addReseller()];
  const insert = async (resellerId: number, count: number, minutesAgo: number) => {
    const rows = await runSql<{ id: string }>(
      databaseUrl,
      `INSERT INTO webhooks (webhook_code, reseller_id, url, description, scopes, secret_sealed, era, transaction, number, created_at,
         next_step_at, verified_at)
       SELECT 'wh_' || $1::bigint || '_' || n, $1, 'https://a.example/', '', '{}', '', 1, '0', 0, $3, $3, $3
       FROM generate_series(1, $2::int) AS n RETURNING id`,
      [resellerId, count, new Date(clock.now().getTime() - minutesAgo * 60_000)],
    );
    return rows.map(({ id }) => Number(id));
  };
  const many = await insert(greedy.id, 10, 5);
  const [own] = await insert(victim.id, 1, 0);
  const rows = inTurn(context);
  const firstOf = async (except: number[]) => (await rows.first(32, except)).map(({ id }) => id);
  assert.deepEqual(await firstOf([]), [many[0], own, ...many.slice(1, 4)]);
  assert.deepEqual(await firstOf(many.slice(0, 4)), [own]);
  assert.deepEqual(await firstOf(many.slice(0, 3)), [own, many[3]]);
});

const inTurn = webhooksInTurn("test-webhooks", "verified_at IS NOT NULL");
