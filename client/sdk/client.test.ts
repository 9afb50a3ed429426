import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../package.json" with { type: "json" };
import { instantClock } from "../testing/instant-clock.ts";
import {
  accepted,
  apiKey,
  apiSecret,
  refuse,
  type StandInService,
  startStandInService,
} from "../testing/stand-in-service.ts";
import { createClient } from "./client.ts";

function clientFor(service: StandInService, url = service.url) {
  const delaysMs: number[] = [];
  const clock = instantClock((delayMs) => delaysMs.push(delayMs));
  return { client: createClient({ url, apiKey, apiSecret, clock }), delaysMs };
}

const orderTarget = "GET /v1/orders/REG-00000000-001";

function order(status: string, checkAfterSeconds?: number) {
  const headers: Record<string, string> = {};
  if (checkAfterSeconds !== undefined) headers["check-after"] = String(checkAfterSeconds);
  return { status: 200, headers, body: { order_code: "REG-00000000-001", status } };
}

/** An answer of a service that honours `Prefer: wait=N`. */
function held(answer: ReturnType<typeof order>) {
  answer.headers["preference-applied"] = "wait=30";
  return answer;
}

test("signs names that need percent-encoding exactly as they go on the wire", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/m%C3%BCnchen.be"] = { status: 200, body: { domain_name: "xn--mnchen-3ya.be" } };
  service.answers["GET /v1/hostingaccounts/it's%20(odd)*!"] = { status: 200, body: { identifier: "odd" } };
  const { client } = clientFor(service);
  assert.equal((await client.getDomain("münchen.be")).data.domain_name, "xn--mnchen-3ya.be");
  assert.equal((await client.getHostingAccount("it's (odd)*!")).data.identifier, "odd");
});

test("signs bodies outside ASCII", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/xn--caf-dma.be", 5);
  const { client } = clientFor(service);
  const account = { identifier: "café.be", servicePackId: "14491", password: "Wachtwöord1" };
  assert.equal((await client.createHostingAccount(account)).data.identifier, "xn--caf-dma.be");
  assert.deepEqual(JSON.parse(service.seen[0]!.body), {
    servicepack_id: "14491",
    identifier: "café.be",
    password: "Wachtwöord1",
  });
});

test("works with a bare URL and with a trailing slash", async () => {
  await using service = await startStandInService();
  service.answers["GET /servicepacks"] = { status: 200, body: [] };
  for (const base of [service.url.replace("/v1", ""), service.url.replace("/v1", "/")]) {
    assert.deepEqual((await clientFor(service, base).client.listServicePacks()).data, []);
  }
});

test("refuses an id that would become another resource's path", async () => {
  await using service = await startStandInService();
  const { client } = clientFor(service);
  for (const name of ["..", ".", ""]) {
    await assert.rejects(client.getDomain(name), TypeError);
    await assert.rejects(client.setWillRenew(name, true), TypeError);
  }
  assert.equal(service.seen.length, 0);
});

test("refuses settings that cannot be right before anything is sent", () => {
  assert.throws(() => createClient({ url: "ftp://example.com", apiKey, apiSecret }), /not of the form/);
  assert.throws(() => createClient({ url: "https://me:pw@example.com", apiKey, apiSecret }), /must not carry/);
  assert.throws(() => createClient({ url: "https://example.com", apiKey: "abc", apiSecret }), /32 lower-case hex/);
  assert.throws(() => createClient({ url: "https://example.com", apiKey, apiSecret: "" }), /secret is empty/);
  const userAgent = "shop\r\nx-a: b";
  assert.throws(() => createClient({ url: "https://example.com", apiKey, apiSecret, userAgent }), /printable ASCII/);
});

test("says which program and which release of the library asks", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/servicepacks"] = { status: 200, body: [] };
  await createClient({ url: service.url, apiKey, apiSecret, userAgent: "shop/1.0" }).listServicePacks();
  assert.equal(service.seen[0]?.headers["user-agent"], `shop/1.0 deedhouse-typescript/${manifest.version}`);
});

test("an answer reports the request budget and the request id", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains?skip=5&take=10"] = {
    status: 200,
    body: [],
    headers: { "x-paging-skipped": "5", "x-paging-take": "10", "x-paging-totalresults": "3" },
  };
  const page = await clientFor(service).client.listDomains({ skip: 5, take: 10 });
  assert.deepEqual(page.rateLimit, { limit: 100, usage: 7, remaining: 93, resetSeconds: 42 });
  assert.equal(page.requestId, "req-1");
  assert.deepEqual([page.skipped, page.take, page.total], [5, 10, 3]);
});

test("allDomains follows rel=next until there is none", async () => {
  await using service = await startStandInService();
  const link = '</v1/domains?take=100>; rel="first", </v1/domains?cursor=0a,1b&take=100>; rel="next"';
  service.answers["GET /v1/domains?take=100"] = { status: 200, headers: { link }, body: [{ domain_name: "a.com" }] };
  service.answers["GET /v1/domains?cursor=0a,1b&take=100"] = {
    status: 200,
    headers: { link: "</v1/domains?take=100>; rel=prev" },
    body: [{ domain_name: "b.com" }, { domain_name: "c.com" }],
  };
  const names: string[] = [];
  for await (const domain of clientFor(service).client.allDomains()) names.push(domain.domain_name);
  assert.deepEqual(names, ["a.com", "b.com", "c.com"]);
});

test("an answer that is not the API's says to check the URL", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains"] = { status: 200, body: "<html>hello</html>" };
  await assert.rejects(clientFor(service).client.listDomains(), {
    errorCode: "unexpected_response",
    errorText: /check that the URL/,
  });
  service.answers["GET /v1/domains"] = { status: 301, headers: { location: "/elsewhere" } };
  await assert.rejects(clientFor(service).client.listDomains(), { errorCode: "unexpected_response", status: 301 });
});

test("waitForOrder leaves check-after between looks where answers are not held, and reports each change once", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = [
    order("NotProvisioned", 3),
    order("Processing", 2),
    order("Processing", 4),
    order("Finished"),
  ];
  const { client, delaysMs } = clientFor(service);
  const statuses: string[] = [];
  const answer = await client.waitForOrder("REG-00000000-001", {
    checkAfterSeconds: 7,
    onStatus: ({ data }) => statuses.push(data.status),
  });
  assert.equal(answer.data.status, "Finished");
  assert.deepEqual(statuses, ["NotProvisioned", "Processing", "Finished"]);
  assert.deepEqual(delaysMs, [0, 3000, 2000, 4000]);
  assert.deepEqual(
    service.seen.map((request) => request.headers.prefer),
    ["wait=30", "wait=30", "wait=30", "wait=30"],
  );
});

test("waitForOrder looks at once and follows a change at once where answers are held", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = [held(order("NotProvisioned", 10)), held(order("Processing", 10)), order("Finished")];
  const { client, delaysMs } = clientFor(service);
  const answer = await client.waitForOrder("REG-00000000-001", { checkAfterSeconds: 10 });
  assert.equal(answer.data.status, "Finished");
  assert.deepEqual(delaysMs, [0, 0, 0]);
});

test("waitForOrder does not look in a tight loop when a service says that it holds answers and does not", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = held(order("Processing", 0));
  const { client, delaysMs } = clientFor(service);
  await assert.rejects(client.waitForOrder("REG-00000000-001", { timeoutMs: 3_000 }), { name: "WaitTimeoutError" });
  assert.deepEqual(delaysMs, [0, 0, 1000, 1000, 1000]);
});

test("waitForOrder leaves the 202's check-after between looks where no other answer has one", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = [order("Processing"), order("Finished")];
  const { client, delaysMs } = clientFor(service);
  await client.waitForOrder("REG-00000000-001", { checkAfterSeconds: 7 });
  assert.deepEqual(delaysMs, [0, 7000]);
});

test("waitForOrder takes a last look when the time runs out, then reports the order's status", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = [order("Processing", 8), order("Pending", 86_400)];
  const { client, delaysMs } = clientFor(service);
  await assert.rejects(client.waitForOrder("REG-00000000-001", { timeoutMs: 10_000 }), {
    name: "WaitTimeoutError",
    lastStatus: "Pending",
    checkAfterSeconds: 86_400,
  });
  assert.deepEqual(delaysMs, [0, 8000, 2000]);
});

test("waitForOrder survives a temporary outage of the service", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = order("Finished");
  service.faults.push(refuse(503, "service_unavailable", { "retry-after": "200" }));
  const { client, delaysMs } = clientFor(service);
  assert.equal((await client.waitForOrder("REG-00000000-001")).data.status, "Finished");
  assert.deepEqual(delaysMs, [0, 200_000]);
});

test("waitForOrder does not wait for an order that does not exist", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = refuse(404, "order_not_found");
  await assert.rejects(clientFor(service).client.waitForOrder("REG-00000000-001"), { errorCode: "order_not_found" });
});

test("waitForHostingAccount resolves when the account is no longer Provisioning", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/hostingaccounts/site.example"] = [
    { status: 200, headers: { "check-after": "4" }, body: { identifier: "site.example", status: "Provisioning" } },
    { status: 200, body: { identifier: "site.example", status: "Ready" } },
  ];
  const { client, delaysMs } = clientFor(service);
  assert.equal((await client.waitForHostingAccount("site.example")).data.status, "Ready");
  assert.deepEqual(delaysMs, [0, 4000]);
  assert.deepEqual(
    service.seen.map((request) => request.headers.prefer),
    ["wait=30", "wait=30"],
  );
});
