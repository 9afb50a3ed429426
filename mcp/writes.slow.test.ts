/** Dry runs and confirmations of `deedhouse mcp --write`, on a gateway with a sandbox registry. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { createSender } from "../client/sdk/client.ts";
import { systemClock } from "../client/sdk/clock.ts";
import { instantClock } from "../client/testing/instant-clock.ts";
import type { TestReseller } from "../test/harness/gateway.ts";
import { eventually, runTool } from "../test/harness/running-system.ts";
import { createPaidOrders } from "./paid-orders.ts";
import { whyNotInstalled as skip } from "./test-installed.ts";
import { startService } from "./test-service.ts";

const sessions = skip ? undefined : await import("./test-session.ts");
const { gateway, operations, environmentOf, ordersOf, register } = await startService();

const startAs = async (reseller: TestReseller, args: string[] = []) =>
  sessions!.startSession(args, environmentOf(reseller).env);

/** A server in this process. @param fetch replaces the real one */
async function startHere(reseller: TestReseller, fetch = globalThis.fetch) {
  const { folder } = environmentOf(reseller);
  const { id: apiKey, secret } = reseller.key;
  const clock = instantClock();
  const send = createSender({ url: gateway.url, apiKey, apiSecret: secret.reveal(), retriesMax: 0, fetch });
  const paidOrders = createPaidOrders({ folder, apiKey, perDayMax: 5, clock: systemClock });
  const session = await sessions!.startInProcess({ version: "1", operations, send, clock, paidOrders, log: () => {} });
  return { session, clock, paidOrders };
}

test("a dry run orders nothing, its token orders once, and a repeat does not order again", { skip }, async () => {
  const reseller = await gateway.addReseller();
  await using session = await startAs(reseller, ["--write"]);
  const args = { domain_name: "once.example", years: 1 };
  const { answer: dry } = await session.call("registerDomain", args);
  assert.equal(dry.dry_run, true);
  assert.deepEqual(dry.would_send, { method: "POST", path: "/domains/registrations", body: args });
  assert.equal(dry.service_says.domain_name, "once.example");
  assert.match(dry.effects.join(" "), /paid order 1 of the 10/);
  assert.deepEqual(await ordersOf(reseller), []);

  const confirmed = { ...args, confirmation_token: dry.confirmation_token };
  const changed = await session.call("registerDomain", { ...confirmed, years: 2 });
  assert.equal(changed.answer.error_code, "not_confirmed");
  assert.equal(
    (await session.call("restoreDomain", { domain_name: "once.example", confirmation_token: dry.confirmation_token }))
      .isError,
    true,
  );
  assert.deepEqual(await ordersOf(reseller), []);

  const first = await session.call("registerDomain", confirmed);
  assert.deepEqual([first.isError, first.answer.sent, first.answer.status], [false, true, 202]);
  const again = await session.call("registerDomain", confirmed);
  assert.deepEqual(again.answer, first.answer);
  assert.match(again.notes.join(), /nothing was sent now/);
  const isFinished = async () => {
    const { answer } = await session.call("readOrder", { order_code: first.answer.id, wait_seconds: 30 });
    return answer.data.status === "Finished";
  };
  await eventually("the order is finished", isFinished);
  assert.deepEqual(
    (await ordersOf(reseller)).map(({ kind }) => kind),
    ["create"],
  );
});

test("nothing is written to a service that does not say which orders are paid", { skip }, async () => {
  const described = await (await fetch(`${gateway.url}/openapi.json`)).text();
  const earlier = createServer((_request, response) => response.end(described.replaceAll("x-paid-order", "x-other")));
  await once(earlier.listen(0, "127.0.0.1"), "listening");
  after(() => earlier.close());
  const url = `http://127.0.0.1:${(earlier.address() as AddressInfo).port}`;
  const { env } = environmentOf(await gateway.addReseller(), url);
  const { code, stdout, stderr } = await runTool(["mcp", "--write"], { env });
  assert.deepEqual([code, stdout], [3, ""]);
  assert.match(stderr, /does not say which orders are paid\nStart it without --write/);
  assert.equal((await runTool(["mcp"], { env })).code, 0);
});

test("a dry run that the service refuses gives no token", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const { session } = await startHere(reseller);
  const { isError, answer } = await session.call("registerDomain", { domain_name: "no-such-suffix.invalid" });
  assert.equal(isError, true);
  assert.equal(answer.confirmation_token, undefined);
  assert.match(answer.error_code, /./);
});

test("a delete shows what is there now, and is sent with its confirmation", { skip }, async () => {
  const reseller = await gateway.addReseller();
  await register(reseller, "gone.example");
  const { session } = await startHere(reseller);
  const args = { domain_name: "gone.example", confirm: "gone.example", wait_seconds: 20 };
  const { answer: dry } = await session.call("deleteDomain", args);
  assert.equal(dry.would_send.path, "/domains/gone.example?confirm=gone.example");
  assert.equal(dry.now.domain_name, "gone.example");
  const { answer } = await session.call("deleteDomain", { ...args, confirmation_token: dry.confirmation_token });
  assert.equal(answer.data.status, "Finished", JSON.stringify(answer));
});

test("a password is in no dry run and no log", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const servicepack_id = await gateway.addPack();
  await using session = await startAs(reseller, ["--write"]);
  const password = "xkn3qjfYGmrM6jqfwuA4sQY4";
  const args = { servicepack_id, identifier: "secret-site.example", password };
  const { answer: dry } = await session.call("createHostingAccount", args);
  assert.doesNotMatch(JSON.stringify(dry), new RegExp(password));
  const { answer } = await session.call("createHostingAccount", {
    ...args,
    confirmation_token: dry.confirmation_token,
  });
  assert.equal(answer.id, "secret-site.example");
  await eventually("it is logged", () => /(createHostingAccount: done.*){2}/s.test(session.stderr()));
  assert.doesNotMatch(session.stderr(), new RegExp(`${password}|secret-site`));
});

test("a token that is older than ten minutes orders nothing", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const { session, clock } = await startHere(reseller);
  const { answer: dry } = await session.call("registerDomain", { domain_name: "late.example" });
  await clock.sleep(600_000);
  const late = await session.call("registerDomain", {
    domain_name: "late.example",
    confirmation_token: dry.confirmation_token,
  });
  assert.equal(late.answer.error_code, "not_confirmed");
  assert.deepEqual(await ordersOf(reseller), []);
});

test("after a lost answer, the same token repeats the same call: one order, counted once", { skip }, async () => {
  const reseller = await gateway.addReseller();
  let isLosing = false;
  const { session, clock, paidOrders } = await startHere(reseller, async (...request) => {
    const answer = await fetch(...request);
    if (isLosing) throw new TypeError("the answer was lost");
    return answer;
  });
  await register(reseller, "lost.example");
  const { answer: domain } = await session.call("readDomain", { domain_name: "lost.example" });
  const args = { domain_name: "lost.example", years: 1, expiration_date: domain.data.expiration_date };
  const { answer: dry } = await session.call("renewDomain", args);
  const confirmed = { ...args, confirmation_token: dry.confirmation_token };
  isLosing = true;
  const lost = await session.call("renewDomain", confirmed);
  assert.equal(lost.answer.error_code, "no_answer");
  assert.match(lost.notes.join(), /same confirmation_token.*at most once/);
  isLosing = false;
  await clock.sleep(3_600_000);
  const repeated = await session.call("renewDomain", confirmed);
  assert.equal(repeated.answer.status, 202, JSON.stringify(repeated));
  const renewals = (await ordersOf(reseller)).filter(({ kind }) => kind === "renew");
  assert.deepEqual(
    renewals.map(({ order_code }) => order_code),
    [repeated.answer.id],
  );
  assert.equal((await paidOrders.check()).placed, 1);
});

test("what the service refuses is not counted as a paid order", { skip }, async () => {
  const reseller = await gateway.addReseller();
  await register(reseller, "twice.example");
  const { session, paidOrders } = await startHere(reseller);
  const args = { domain_name: "twice.example", years: 1, expiration_date: "2001-01-01" };
  const { answer: dry } = await session.call("renewDomain", args);
  const refused = await session.call("renewDomain", { ...args, confirmation_token: dry.confirmation_token });
  assert.equal(refused.answer.error_code, "domain_expiration_changed");
  assert.equal((await paidOrders.check()).placed, 0);
});
