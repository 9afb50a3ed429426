/** `deedhouse mcp` without changes, with the official SDK's client on a gateway. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { TestReseller } from "../test/harness/gateway.ts";
import { runTool } from "../test/harness/running-system.ts";
import { whyNotInstalled as skip } from "./test-installed.ts";
import { startService } from "./test-service.ts";

const sessions = skip ? undefined : await import("./test-session.ts");
const { gateway, operations, environmentOf, ordersOf, register } = await startService();

const startAs = async (reseller: TestReseller, args: string[] = []) =>
  sessions!.startSession(args, environmentOf(reseller).env);

test("without --write the tools are the document's reads, with its words", { skip }, async () => {
  await using session = await startAs(await gateway.addReseller());
  const { tools } = await session.client.listTools();
  const reads = operations.filter(({ method }) => method === "GET");
  assert.deepEqual(
    tools.map(({ name, title, description, inputSchema }) => ({ name, title, description, inputSchema })),
    reads.map(({ name, summary, description, schema }) => ({
      name,
      title: summary.slice(0, -1),
      description: `${summary} ${description}`,
      inputSchema: schema,
    })),
  );
  assert.ok(tools.length > 10);
  assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
  assert.match(session.client.getInstructions() ?? "", /started without --write/);
  assert.match(session.stderr(), /read only/);
});

test("with --write all operations are tools, and those that change something say so", { skip }, async () => {
  await using session = await startAs(await gateway.addReseller(), ["--write"]);
  const { tools } = await session.client.listTools();
  assert.deepEqual(
    tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]),
    operations.map(({ name, method }) => [name, method === "GET"]),
  );
  const writes = tools.filter(({ annotations }) => !annotations?.readOnlyHint);
  for (const { name, inputSchema } of writes) assert.ok(inputSchema.properties?.confirmation_token, name);
});

test("a list is read page by page with the arguments that each answer names", { skip }, async () => {
  const reseller = await gateway.addReseller();
  await register(reseller, "page-a.example", "page-b.example", "page-c.example");
  await using session = await startAs(reseller);
  const names: string[] = [];
  let args: object | undefined = { take: 2, name_prefix: "page", will_renew: true };
  while (args) {
    const { isError, answer } = await session.call("listDomains", { ...args });
    assert.equal(isError, false, JSON.stringify(answer));
    assert.equal(answer.total, 3);
    names.push(...answer.data.map(({ domain_name }: { domain_name: string }) => domain_name));
    args = answer.next_page;
  }
  assert.deepEqual(names, ["page-a.example", "page-b.example", "page-c.example"]);
  const one = await session.call("readDomain", { domain_name: "PAGE-A.example" });
  assert.equal(one.answer.data.domain_name, "page-a.example");
  const { answer } = await session.call("checkNames", { names: "page-a.example,page-free.example" });
  assert.deepEqual(
    answer.data.map(({ availability }: { availability: string }) => availability),
    ["taken", "available"],
  );
});

test("an error of the API is a tool error with code, text and what to do", { skip }, async () => {
  const reseller = await gateway.addReseller();
  const reader = await gateway.addKey(reseller, { scopes: ["domains:read"] });
  await using session = await startAs(reader);
  const missing = await session.call("readDomain", { domain_name: "missing.example" });
  assert.equal(missing.isError, true);
  assert.equal(missing.answer.error_code, "domain_not_found");
  assert.match(missing.answer.request_id, /./);
  const forbidden = await session.call("listHostingAccounts");
  assert.equal(forbidden.answer.error_code, "authorization_scope_missing");
  assert.match(forbidden.answer.what_to_do, /Only the operator/);
  for (const [args, text] of [
    [{}, /must have required property 'domain_name'/],
    [{ domain_name: ".." }, /domain_name must match pattern/],
    [{ domain_name: 7 }, /domain_name must be string/],
    [{ domain_name: "a.example", years: 2 }, /Unknown arguments: years/],
  ] as const) {
    const { isError, answer } = await session.call("readDomain", args);
    assert.equal(isError, true);
    assert.match(answer.error_text, text);
  }
  assert.match((await session.call("registerName")).answer.error_text, /no tool registerName.*listDomains/);
});

test("only the protocol is on stdout, and stderr does not quote what cannot be read", { skip }, async () => {
  const { env } = environmentOf(await gateway.addReseller());
  const input = '{"secret"\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n';
  const { code, stdout, stderr } = await runTool(["mcp"], { env, input });
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(stdout), { jsonrpc: "2.0", id: 1, result: {} });
  assert.match(stderr, /not understood: SyntaxError/);
  assert.doesNotMatch(stderr, /secret/);
});

test("what does not describe this API ends with 3", { skip }, async () => {
  const { env } = environmentOf(await gateway.addReseller());
  const other = createServer((_request, response) => response.end('{"paths":{}}'));
  await once(other.listen(0, "127.0.0.1"), "listening");
  after(() => other.close());
  const at = { ...env, DEEDHOUSE_URL: `http://127.0.0.1:${(other.address() as AddressInfo).port}` };
  const refused = await runTool(["mcp"], { env: at });
  assert.equal(refused.code, 3);
  assert.match(refused.stderr, /cannot be used: it has no signed operations\nCheck that the URL is the API's/);
});

test("without --write nothing is changed, also when a client calls what is not listed", { skip }, async () => {
  const reseller = await gateway.addReseller();
  await using session = await startAs(reseller);
  const { isError, answer } = await session.call("registerDomain", { domain_name: "unlisted.example" });
  assert.equal(isError, true);
  assert.match(answer.error_text, /only reads.*deedhouse mcp --write/);
  assert.deepEqual(await ordersOf(reseller), []);
});
