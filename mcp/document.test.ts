import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDocument } from "../src/api/open-routes.ts";
import { readOperations } from "./document.ts";

// What a client gets: the document as JSON.
const operations = readOperations(JSON.parse(JSON.stringify(apiDocument())));
const byName = new Map(operations.map((operation) => [operation.name, operation]));

test("paid orders are registrations, renewals by hand and restores", () => {
  const paid = operations.filter(({ isPaidOrder }) => isPaidOrder).map(({ name }) => name);
  assert.deepEqual(paid.sort(), ["registerDomain", "renewDomain", "restoreDomain"]);
});

test("what serves programs that sign, and v2, are no tools", () => {
  for (const name of ["readOpenApi", "checkSignature", "listDomainsV2"]) assert.ok(!byName.has(name), name);
  assert.ok(operations.every(({ path }) => !path.startsWith("/v2")));
});

test("the arguments are those of path, query and body together, without references", () => {
  const { schema, places } = byName.get("setNameServers")!;
  assert.deepEqual(schema.required, ["domain_name", "name_servers"]);
  assert.deepEqual(
    [...places],
    [
      ["domain_name", "path"],
      ["wait_seconds", "wait"],
      ["name_servers", "body"],
    ],
  );
  assert.doesNotMatch(JSON.stringify(operations.map((operation) => operation.schema)), /\$ref/);
});

test("passwords are known as secrets, and a dry run of the service is no argument", () => {
  assert.deepEqual([...byName.get("createHostingAccount")!.secrets], ["password"]);
  const register = byName.get("registerDomain")!;
  assert.equal(register.hasDryRun, true);
  assert.ok(!register.places.has("dry_run"));
});

test("what is not a description of this API is refused, and a schema that contains itself ends", () => {
  for (const document of [null, [], {}, { paths: {} }]) assert.throws(() => readOperations(document));
  const node = { type: "object", properties: { child: { $ref: "#/components/schemas/Node" } } };
  const body = {
    content: { "application/json": { schema: { properties: { root: { $ref: "#/components/schemas/Node" } } } } },
  };
  const post = { operationId: "plant", security: [{ hmac: [] }], requestBody: body };
  const [plant] = readOperations({ paths: { "/trees": { post } }, components: { schemas: { Node: node } } });
  assert.deepEqual(plant!.schema.properties.root, { type: "object", properties: { child: {} } });
  const missing = { "/trees/{id}": { get: { ...post, parameters: [{ $ref: "#/components/parameters/id" }] } } };
  assert.throws(() => readOperations({ paths: missing }), /#\/components\/parameters\/id does not exist/);
});
