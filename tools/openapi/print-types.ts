/**
 * Prints the types of client/sdk/openapi-types.ts from the openapi.json on stdin: the schemas of the calls that the library
 * makes, and of their bodies by the operation's name. The paths are left out: the library's methods take their place.
 */
import { text } from "node:stream/consumers";
import openapiTS, { astToString } from "openapi-typescript";

const heading = `/** Printed from openapi.json. After a change of the API: UPDATE_GOLDEN=1 npm test -- test/clients/openapi-types.test.ts */

`;
const schemaReference = /"#\/components\/schemas\/(\w+)"/g;

interface Operation {
  operationId: string;
  requestBody?: { content: { "application/json": { schema: object } } };
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const { paths, components }: Document = JSON.parse(await text(process.stdin));
const operations = Object.entries(paths)
  .filter(([path]) => !path.startsWith("/v2/"))
  .flatMap(([, at]) => Object.values(at));

const schemas: Record<string, object> = {};
/** Takes a schema over, with all that it names. */
function take(name: string, schema: { examples?: unknown }): void {
  if (name in schemas) return;
  // Those of whole objects are longer than their types.
  const { examples: _examples, ...rest } = schema;
  schemas[name] = rest;
  takeNamed(schema);
}
function takeNamed(part: object): void {
  for (const [, name = ""] of JSON.stringify(part).matchAll(schemaReference)) take(name, components.schemas[name]!);
}
take("Error", components.schemas.Error!);
for (const operation of operations) {
  takeNamed(operation);
  const { operationId, requestBody } = operation;
  const name = `${operationId[0]!.toUpperCase()}${operationId.slice(1)}Body`;
  if (requestBody) take(name, requestBody.content["application/json"].schema);
}

const info = { title: "Deedhouse", version: "1" };
const document = { openapi: "3.1.0", info, paths: {}, components: { schemas } };
// Otherwise a field with a default would be required in a body.
const nodes = await openapiTS(document, { silent: true, defaultNonNullable: false });
const [printed = ""] =
  /^export interface components \{\n {4}schemas: \{\n.*?^ {4}\};\n/ms.exec(astToString(nodes)) ?? [];
if (!printed) throw new Error("openapi-typescript prints components in another form now: adapt print-types.ts to it");
process.stdout.write(`${heading}${printed}}\n`);
