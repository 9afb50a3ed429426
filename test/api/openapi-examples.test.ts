import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { assertValid } from "../harness/described.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { startNameServer } from "../harness/name-server.ts";
import type { Reply } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// Sends each example request of openapi.json, in the order of a name's and of an account's life. `send` compares each answer with
// the description, so only the status is looked at here.

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  example?: unknown;
  schema: { examples?: unknown[] };
}
interface Content {
  "application/json": {
    schema: object;
    example?: unknown;
    examples?: Record<string, { $ref?: string; value?: unknown }>;
  };
}
interface Operation {
  operationId: string;
  parameters: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { $ref?: string; content?: Content }>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: {
    parameters: Record<string, Parameter>;
    responses: Record<string, { content: Content }>;
    examples: Record<string, { value: unknown }>;
  };
}

interface Play {
  /** Replaces examples that only the service can know, such as the code of an order. */
  params?: Record<string, string>;
  /** Which of the request's examples. */
  example?: number;
  headers?: Record<string, string>;
  expects: number;
}

const zones = { nameServers: ["ns1.dns.test"], hostmaster: "hostmaster.dns.test", host: "127.0.0.1", port: 1 };
const v1 = await startStage();
const v2 = await startStage();
const { body } = await v1.gateway.send(v1.reseller, "GET", "/openapi.json");
const document = body as Document;
const operations = Object.entries(document.paths).flatMap(([path, at]) =>
  Object.entries(at)
    .filter(([method]) => method !== "servers")
    .map(([method, operation]) => ({ method: method.toUpperCase(), path, ...operation })),
);
const played = new Set<string>(["readOpenApi"]);

async function startStage() {
  const names = await startNameServer();
  after(() => names.close());
  names.addresses.set("shop.example.com", ["9.9.9.9"]);
  const gateway = await startTestGateway(
    { after },
    { node: true, registry: { glueAddresses: "any" }, context: { names: createNameLookups([names.address]), zones } },
  );
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack({ diskBytesMax: 100_000_000 });
  await runSql(gateway.databaseUrl, `UPDATE service_packs SET id = 14490 WHERE id = ${pack}`);
  return { gateway, reseller };
}

/** Sends an operation's example as it is documented. */
async function play(stage: typeof v1, operationId: string, { params = {}, example = 0, headers, expects }: Play) {
  const operation = operations.find((one) => one.operationId === operationId);
  assert.ok(operation, operationId);
  const parameters = operation.parameters.map((parameter) => {
    const name = parameter.$ref?.split("/").at(-1);
    return name === undefined ? parameter : document.components.parameters[name]!;
  });
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    return params[name] ?? String(document.components.parameters[name]!.example);
  });
  const query = parameters
    .filter((parameter) => parameter.in === "query" && parameter.schema.examples)
    .map(({ name, schema }) => `${name}=${schema.examples![0]}`);
  const key = parameters.find(({ name }) => name === "Idempotency-Key");
  const examples = Object.values(operation.requestBody?.content["application/json"].examples ?? {});
  const reply = await stage.gateway.send(
    stage.reseller,
    operation.method,
    [path, ...(query.length > 0 ? [query.join("&")] : [])].join("?"),
    {
      ...(examples.length > 0 && { body: examples[example]!.value }),
      headers: { ...(key && example === 0 && { "idempotency-key": String(key.example) }), ...headers },
    },
  );
  assert.equal(reply.status, expects, `${operationId}: ${reply.status} ${reply.text}`);
  played.add(`${operationId} ${example}`);
  played.add(operationId);
  return reply;
}

const locationOf = ({ headers }: Reply) => headers.location!;
const lastOf = (reply: Reply) => locationOf(reply).split("/").at(-1)!;

/** Plays an order's example, and waits for the order's end. */
async function order(stage: typeof v1, operationId: string, options: Partial<Play> = {}): Promise<string> {
  const reply = await play(stage, operationId, { expects: 202, ...options });
  await stage.gateway.settled(stage.reseller, locationOf(reply));
  return lastOf(reply);
}

test("the examples about names are answered as documented", async () => {
  await play(v1, "registerDomain", { example: 1, expects: 200 });
  const registered = await order(v1, "registerDomain");
  await play(v1, "readRegistration", {
    params: { order_code: registered },
    headers: { prefer: "wait=2" },
    expects: 200,
  });
  for (const read of ["checkNames", "listDomains", "readDomain", "readDomainHistory", "listOrders", "listRenewals"]) {
    await play(v1, read, { expects: 200 });
  }
  await order(v1, "setContacts");
  await play(v1, "readContacts", { expects: 200 });
  await order(v1, "setNameServers");
  await order(v1, "setDnssec");
  const shown = await play(v1, "readDomain", { expects: 200 });
  assert.match(shown.text, /ns1\.hello\.example.*"ds"/);
  await order(v1, "orderAuthCode");
  await play(v1, "readAuthCode", { expects: 200 });
  const locked = await play(v1, "setTransferLock", { headers: { prefer: "wait=30" }, expects: 200 });
  await play(v1, "readOrder", { params: { order_code: lastOf(locked) }, expects: 200 });
  await order(v1, "answerTransfer");
  await play(v1, "setWillRenew", { expects: 204 });
  await runSql(v1.gateway.databaseUrl, "UPDATE domains SET expiration_date = '2027-11-21T01:39:27.687Z'");
  await order(v1, "renewDomain");
  await order(v1, "deleteDomain");
  await play(v1, "listDepartures", { expects: 200 });
  await play(v1, "listEvents", { expects: 200 });
  // A name that is deleted in its add grace period could not be restored.
  await runSql(v1.gateway.databaseUrl, "UPDATE domains_ended SET restorable_until = now() + interval '1 day'");
  await order(v1, "restoreDomain");
});

test("the examples about hosting accounts are answered as documented", async () => {
  await order(v1, "createHostingAccount");
  const reads = [
    "readOwnAccount",
    "listServicePacks",
    "listHostingAccounts",
    "readHostingAccount",
    "readHostingHistory",
    "listHostNames",
  ];
  for (const read of reads) await play(v1, read, { expects: 200 });
  await play(v1, "setHostingPassword", { expects: 202 });
  await play(v1, "setHostingSuspension", { expects: 202 });
  await play(v1, "addHostName", { expects: 202 });
  await play(v1, "readHostName", { expects: 200 });
  await play(v1, "removeHostName", { expects: 202 });
  await play(v1, "deleteHostingAccount", { expects: 202 });
});

test("the examples of v2 are answered as documented", async () => {
  const dry = await play(v2, "registerDomainV2", { example: 1, expects: 200 });
  assert.match(dry.text, /years/);
  const job = lastOf(await play(v2, "registerDomainV2", { expects: 202 }));
  await finished(job);
  await play(v2, "listDomainsV2", { expects: 200 });
  await play(v2, "setNameServersV2", { expects: 204 });
  await play(v2, "readDomainV2", { expects: 200 });
  await play(v2, "setWillRenewV2", { expects: 204 });
  await play(v2, "listServicePacksV2", { expects: 200 });
  const accountJob = await play(v2, "createHostingAccountV2", { expects: 202 });
  const account = lastOf(await finished(lastOf(accountJob)));
  await play(v2, "listAccountsV2", { expects: 200 });
  await play(v2, "readAccountV2", { params: { account_id: account }, expects: 200 });
  await play(v2, "listLinuxHostingsV2", { expects: 200 });
  await play(v2, "readLinuxHostingV2", { expects: 200 });
  await play(v2, "configureFtpV2", { expects: 204 });
});

/** Looks at a job until it answers 201. */
async function finished(job: string): Promise<Reply> {
  for (;;) {
    const reply = await v2.gateway.send(v2.reseller, "GET", `/v2/provisioningjobs/${job}`, {
      headers: { prefer: "wait=5" },
    });
    if (reply.status !== 200) return play(v2, "readProvisioningJobV2", { params: { job_id: job }, expects: 201 });
    assert.match(reply.text, /ongoing/);
  }
}

test("the examples about zones are answered as documented", async () => {
  await insertDomains(v1.gateway.databaseUrl, v1.reseller, ["zoned.example"]);
  const params = { domain_name: "zoned.example" };
  await play(v1, "createZone", { params, expects: 202 });
  await play(v1, "readZone", { params, expects: 200 });
  await play(v1, "setRecordSet", { params, expects: 200 });
  await play(v1, "readRecordSet", { params, expects: 200 });
  await play(v1, "listRecords", { params, expects: 200 });
  const changed = await play(v1, "deleteRecordSet", { params, expects: 202 });
  await play(v1, "changeRecords", { params, expects: 202 });
  await play(v1, "replaceRecords", { params, expects: 200 });
  await play(v1, "listZoneChanges", { params, expects: 200 });
  await play(v1, "readZoneChange", { params: { ...params, change_id: lastOf(changed) }, expects: 200 });
  // Whatever has become of it in the examples about names.
  await runSql(v1.gateway.databaseUrl, "DELETE FROM domains WHERE domain_name = 'hello.example'");
  await insertDomains(v1.gateway.databaseUrl, v1.reseller, ["hello.example"]);
  await v1.gateway.send(v1.reseller, "PUT", "/domains/hello.example/dns", { body: {} });
  await play(v1, "deleteZone", { expects: 202 });
});

test("the examples about records under v2 are answered as documented", async () => {
  await insertDomains(v2.gateway.databaseUrl, v2.reseller, ["zoned.example"]);
  await v2.gateway.send(v2.reseller, "PUT", "/domains/zoned.example/dns", { body: {} });
  const params = { domain_name: "zoned.example" };
  const made = await play(v2, "createDnsRecordV2", { params, expects: 201 });
  const one = { ...params, record_id: lastOf(made) };
  await play(v2, "listDnsRecordsV2", { params, expects: 200 });
  await play(v2, "readDnsRecordV2", { params: one, expects: 200 });
  await play(v2, "updateDnsRecordV2", { params: one, expects: 200 });
  await play(v2, "deleteDnsRecordV2", { params: one, expects: 204 });
});

test("the examples about webhooks are answered as documented", async () => {
  const made = await play(v1, "createWebhook", { expects: 201 });
  const { id } = made.body as { id: string };
  const params = { webhook_id: id };
  for (const read of ["listWebhooks", "readWebhook"]) await play(v1, read, { params, expects: 200 });
  await play(v1, "rotateWebhookSecret", { params, expects: 200 });
  // A test that nobody has to receive.
  await runSql(v1.gateway.databaseUrl, "UPDATE webhooks SET url = 'http://127.0.0.1:1/'");
  await play(v1, "testWebhook", { params, expects: 202 });
  const listed = await play(v1, "listWebhookDeliveries", { params, expects: 200 });
  const [delivery] = listed.body as { event_id: string }[];
  const which = { ...params, event_id: delivery!.event_id };
  await play(v1, "resendWebhookDelivery", { params: which, expects: 202 });
  await play(v1, "updateWebhook", { params, expects: 200 });
  await play(v1, "deleteWebhook", { params, expects: 204 });
});

test("the example about signatures is answered as documented", async () => {
  await play(v1, "checkSignature", { expects: 200 });
});

test("every example of a request was sent", () => {
  const examples = operations.flatMap(({ operationId, requestBody }) => {
    const bodies = Object.keys(requestBody?.content["application/json"].examples ?? {});
    return bodies.length > 0 ? bodies.map((_, index) => `${operationId} ${index}`) : [operationId];
  });
  assert.deepEqual(
    examples.filter((name) => !played.has(name)),
    [],
  );
});

test("every example of an answer fits what is documented of it", () => {
  let compared = 0;
  for (const { operationId, responses, requestBody } of operations) {
    for (const [status, response] of Object.entries(responses)) {
      const shared = response.$ref?.split("/").at(-1);
      const content = shared === undefined ? response.content : document.components.responses[shared]!.content;
      compared += compare(`${operationId} ${status}`, content);
    }
    compared += compare(`${operationId}, the request`, requestBody?.content);
  }
  assert.ok(compared > operations.length * 10);
});

/** @returns the number of examples */
function compare(what: string, content: Content | undefined): number {
  if (!content) return 0;
  const { schema, example, examples = {} } = content["application/json"];
  const values = Object.values(examples).map(({ $ref, value }) => {
    return $ref === undefined ? value : document.components.examples[$ref.split("/").at(-1)!]!.value;
  });
  const all = example === undefined ? values : [example, ...values];
  assert.ok(all.length > 0, `${what} has no example`);
  for (const value of all) assertValid(schema as Record<string, unknown>, value, `the example of ${what}`);
  return all.length;
}
