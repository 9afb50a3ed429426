import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { instantClock } from "../testing/instant-clock.ts";
import { accepted, apiKey, apiSecret, type StandInService, startStandInService } from "../testing/stand-in-service.ts";
import { createClient } from "./client.ts";
import { UnsuccessfulError, WaitTimeoutError } from "./errors.ts";

const orderCode = "REG-00000000-001";
const orderTarget = `GET /v1/orders/${orderCode}`;
const accountTarget = "GET /v1/hostingaccounts/site.example";

const show = (body: object) => ({ status: 200, body });

function clientFor(service: StandInService) {
  const delaysMs: number[] = [];
  const clock = instantClock((delayMs) => delaysMs.push(delayMs));
  return { client: createClient({ url: service.url, apiKey, apiSecret, clock }), delaysMs };
}

test("finished follows what a call has placed, and leaves its check-after between looks", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/registrations"] = accepted(`/v1/domains/registrations/${orderCode}`, 7);
  service.answers[orderTarget] = [
    show({ order_code: orderCode, status: "Processing" }),
    show({ order_code: orderCode, status: "Finished" }),
  ];
  const { client, delaysMs } = clientFor(service);
  const statuses: string[] = [];
  const placed = await client.registerDomain("example.com");
  const { data } = await client.finished(placed, { onStatus: ({ data: { status } }) => statuses.push(status) });
  assert.equal(data.status, "Finished");
  assert.deepEqual(
    [statuses, delaysMs],
    [
      ["Processing", "Finished"],
      [0, 7000],
    ],
  );
  assert.deepEqual(
    service.seen.slice(1).map(({ headers }) => headers.prefer),
    ["wait=30", "wait=30"],
  );
});

test("finished takes a code, and rejects with the order that has failed", async () => {
  await using service = await startStandInService();
  const failed = { order_code: orderCode, status: "FailedValidation", error_text: "The registry refused the name." };
  service.answers[orderTarget] = show(failed);
  await assert.rejects(clientFor(service).client.finished(orderCode), (error) => {
    assert.ok(error instanceof UnsuccessfulError);
    assert.equal(error.message, `the order ${orderCode} ended as FailedValidation: The registry refused the name.`);
    assert.deepEqual(error.outcome, failed);
    return true;
  });
});

test("finished rejects with the last status when the time runs out", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = show({ order_code: orderCode, status: "Pending" });
  await assert.rejects(clientFor(service).client.finished(orderCode, { timeoutMs: 20_000 }), (error) => {
    assert.ok(error instanceof WaitTimeoutError);
    return error.lastStatus === "Pending";
  });
});

test("provisioned waits until an account is ready, and rejects with one that has failed", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/site.example", 2);
  service.answers[accountTarget] = [
    show({ identifier: "site.example", status: "Provisioning" }),
    show({ identifier: "site.example", status: "Ready" }),
    show({ identifier: "site.example", status: "Failed", error_text: "No room." }),
  ];
  const { client, delaysMs } = clientFor(service);
  const account = { identifier: "site.example", servicePackId: "1", password: "correct-horse-battery" };
  const placed = await client.createHostingAccount(account);
  assert.equal((await client.provisioned(placed)).data.status, "Ready");
  assert.deepEqual(delaysMs, [0, 2000]);
  await assert.rejects(client.provisioned("site.example"), /the account site.example ended as Failed: No room\./);
});

test("a signal ends a wait while it sleeps, with its reason", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = {
    status: 200,
    headers: { "check-after": "3600" },
    body: { order_code: orderCode, status: "Pending" },
  };
  // The real clock, so that the wait really sleeps.
  const client = createClient({ url: service.url, apiKey, apiSecret });
  const reason = new Error("the user has left");
  const controller = new AbortController();
  const waiting = client.finished(orderCode, {
    signal: controller.signal,
    timeoutMs: 7_200_000,
    onStatus: () => setImmediate(() => controller.abort(reason)),
  });
  await assert.rejects(waiting, reason);
  assert.equal(service.seen.length, 1);
});

test("a signal ends a wait while the service holds its answer", async () => {
  const controller = new AbortController();
  const reason = new Error("the user has left");
  const holding = createServer(() => controller.abort(reason));
  await new Promise<void>((resolve) => holding.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(holding.address() as AddressInfo).port}`;
  const client = createClient({ url, apiKey, apiSecret });
  await assert.rejects(client.finished(orderCode, { signal: controller.signal }), reason);
  holding.closeAllConnections();
  await new Promise((resolve) => holding.close(resolve));
});

test("a signal ends an iteration between two items of a page", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains?take=100"] = show([{ domain_name: "a.com" }, { domain_name: "b.com" }]);
  const { client } = clientFor(service);
  const controller = new AbortController();
  const reason = new Error("enough");
  const names: string[] = [];
  const read = async () => {
    for await (const { domain_name } of client.allDomains({ signal: controller.signal })) {
      names.push(domain_name);
      controller.abort(reason);
    }
  };
  await assert.rejects(read, reason);
  assert.deepEqual(names, ["a.com"]);
});
