/**
 * Compares every answer that a test gets with openapi.json: a status, a header or a field that it does not have fails the test.
 * So does an accepted request whose body it does not describe.
 */
import assert from "node:assert/strict";
import Schema from "typebox/schema";
import { apiDocument, findOpenRoute } from "#api/open-routes.ts";
import { matchRoute } from "#api/routes.ts";
import { parseTarget } from "#api/signing/signature.ts";
import { readTarget } from "#api/target.ts";
import { closed } from "./closed-schema.ts";
import type { Reply } from "./signed-request.ts";

type Json = Record<string, unknown>;
type Content = Record<string, { schema: Json; examples?: Json }>;
interface Response {
  headers: Record<string, { required?: boolean }>;
  "x-csv"?: boolean;
  "x-event-stream"?: boolean;
  "x-zone-file"?: boolean;
  content?: Content;
}
interface Operation {
  requestBody?: { content: Content };
  responses: Record<string, Response>;
}

const document = JSON.parse(JSON.stringify(apiDocument())) as {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Json>;
};
/** Clients ignore fields of answers that they do not know; here such a field is missing in the description. */
const closedComponents = closed(document.components);

/** HTTP's own; the content's type stands in the description as the content. */
const framingHeaders = ["date", "connection", "keep-alive", "transfer-encoding", "content-length", "content-type"];

export interface SentRequest {
  method: string;
  target: string;
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** @throws AssertionError when the description has no such answer */
export function assertDescribed({ method, target, body: sent, headers }: SentRequest, reply: Reply): void {
  const shown = `${method} ${target.slice(0, 200)} → ${reply.status} ${JSON.stringify(reply.headers)} ${reply.text.slice(0, 2_000)}`;
  const operation = findOperation(method, target);
  const response = follow<Response>(operation ? operation.responses[reply.status] : sharedResponse(reply.status));
  assert.ok(response, `openapi.json does not have this status: ${shown}`);
  const other = otherContents[reply.headers["content-type"]?.split(";")[0] ?? ""];
  if (other) assert.ok(response[other], `openapi.json does not have this content here: ${shown}`);
  else {
    assertHeaders(response, reply, shown);
    if (method !== "HEAD") assertContent(response.content, reply.body, shown);
  }
  const asked = operation?.requestBody?.content["application/json"];
  // The service ignores unknown fields of requests, too.
  const isZoneFile = headers?.["content-type"]?.startsWith("text/dns");
  if (asked && !isZoneFile && reply.status < 300)
    compare(asked.schema, document.components, withoutNulls(parsed(sent)), `the request of ${shown}`);
}

const otherContents: Readonly<Record<string, "x-csv" | "x-event-stream" | "x-zone-file">> = {
  "text/dns": "x-zone-file",
  "text/csv": "x-csv",
  "text/event-stream": "x-event-stream",
};

/** @returns undefined for a path or a method that the API does not have */
function findOperation(method: string, target: string): Operation | undefined {
  const signed = matchRoute(method, readTarget(parseTarget(target) ?? target).segments)?.route;
  const path = (signed ?? findOpenRoute({ method, target, headers: {} }))?.path.replace(/:(\w+)/g, "{$1}");
  return document.paths[path ?? ""]?.[method.toLowerCase()];
}

/** What the edge answers to a request that reaches no operation. */
const sharedResponse = (status: number) => ({ $ref: `#/components/responses/Error${status}` });

function assertHeaders({ headers }: Response, reply: Reply, shown: string): void {
  const received = new Set(Object.keys(reply.headers).map((name) => name.toLowerCase()));
  const described = new Map(
    Object.entries(headers).map(([name, header]) => [name, follow<{ required?: boolean }>(header)]),
  );
  const unknown = [...received].filter((name) => !described.has(name) && !framingHeaders.includes(name));
  assert.deepEqual(unknown, [], `openapi.json does not have these headers: ${shown}`);
  const missing = [...described].filter(([name, header]) => header?.required && !received.has(name));
  assert.deepEqual(
    missing.map(([name]) => name),
    [],
    `openapi.json has these headers, too: ${shown}`,
  );
}

function assertContent(content: Content | undefined, body: unknown, shown: string): void {
  const json = content?.["application/json"];
  assert.equal(body !== undefined, json !== undefined, `openapi.json says otherwise whether there is a body: ${shown}`);
  if (!json) return;
  assertValid(json.schema, body, shown);
  const { error_code: code } = body as { error_code?: string };
  if (json.examples && code) assert.ok(code in json.examples, `openapi.json does not have this error here: ${shown}`);
}

const validators = new Map<string, ReturnType<typeof Schema.Compile>>();

/** Compares with a schema of the document that has no room for further fields. @throws AssertionError */
export function assertValid(schema: Json, value: unknown, shown: string): void {
  compare(closed(schema), closedComponents, value, shown);
}

function compare(schema: Json, components: object, value: unknown, shown: string): void {
  const key = JSON.stringify([schema, components === closedComponents]);
  const validator = validators.get(key) ?? Schema.Compile({ ...schema, components });
  validators.set(key, validator);
  if (validator.Check(value)) return;
  const [, errors] = validator.Errors(value);
  const problems = errors.map(({ instancePath, message }) => `${instancePath} ${message}`).join("; ");
  assert.fail(`openapi.json describes it otherwise (${problems}): ${shown}`);
}

function follow<T>(value: unknown): T | undefined {
  const reference = (value as { $ref?: string } | undefined)?.$ref;
  if (reference === undefined) return value as T | undefined;
  const [kind, name] = reference.replace("#/components/", "").split("/");
  return document.components[kind!]?.[name!] as T | undefined;
}

function parsed(body: unknown): unknown {
  if (Buffer.isBuffer(body)) return parsed(body.toString());
  return typeof body === "string" ? JSON.parse(body.replace(/^\ufeff/, "")) : JSON.parse(JSON.stringify(body));
}

/** Null means left out. */
function withoutNulls(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutNulls);
  const entries = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(entries.map(([name, field]) => [name, withoutNulls(field)]));
}
