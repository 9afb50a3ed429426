/** Reads the operations of openapi.json that make sense as tools, with one flat schema for the arguments of each. */
type Json = Record<string, unknown>;

/** Where an argument goes in the request. `wait` becomes `Prefer: wait=N`. */
export type Place = "path" | "query" | "body" | "wait";

export interface Operation {
  /** The operationId. */
  name: string;
  summary: string;
  description: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** `/domains/{domain_name}` */
  path: string;
  isPaidOrder: boolean;
  /** Its body can ask the service to check everything and to order nothing. */
  hasDryRun: boolean;
  places: ReadonlyMap<string, Place>;
  /** Arguments that are never shown again, such as passwords. */
  secrets: ReadonlySet<string>;
  /** JSON Schema of the arguments, without references. */
  schema: ArgumentsSchema;
}

export interface ArgumentsSchema {
  [key: string]: unknown;
  type: "object";
  properties: Record<string, Json>;
  required: string[];
  additionalProperties: false;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Json;
  example?: unknown;
}

const methods = ["get", "post", "put", "delete"] as const;
/** A path's segment: an empty one, or one of dots, would name another resource. */
const segment = { minLength: 1, pattern: "^(?!\\.{1,2}$)" };
/** The service holds an answer at most this long. */
const waitSecondsMax = 30;
const waitSchema = {
  type: "integer",
  minimum: 0,
  maximum: waitSecondsMax,
  description: "How many seconds the answer may be held until something changes (`Prefer: wait=N`).",
};

/**
 * The operations that need a signature, of the form without /v2: the rest serves programs that sign, or repeats these in
 * other shapes. @throws Error when it is not a description of this API
 */
export function readOperations(document: unknown): Operation[] {
  const paths = isObject(document) && isObject(document.paths) ? document.paths : undefined;
  if (!paths) throw new Error("it has no paths");
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = isObject(item) ? item[method] : undefined;
      if (path.startsWith("/v2/") || !isObject(operation) || !needsSignature(operation)) return [];
      return [readOperation(document as Json, path, method, operation)];
    }),
  );
  if (operations.length === 0) throw new Error("it has no signed operations");
  return operations;
}

/** An empty requirement among others means that a signature is optional. */
const needsSignature = ({ security }: Json) =>
  Array.isArray(security) && security.length > 0 && security.every((entry) => Object.keys(entry).length > 0);

function readOperation(document: Json, path: string, method: (typeof methods)[number], operation: Json): Operation {
  const places = new Map<string, Place>();
  const secrets = new Set<string>();
  const schema: ArgumentsSchema = { type: "object", properties: {}, required: [], additionalProperties: false };
  const add = (name: string, place: Place, shape: Json, isRequired: boolean) => {
    if (places.has(name)) throw new Error(`${String(operation.operationId)} has two arguments with the name ${name}`);
    places.set(name, place);
    schema.properties[name] = shape;
    if (shape.format === "password") secrets.add(name);
    if (isRequired) schema.required.push(name);
  };
  for (const given of (operation.parameters ?? []) as Json[]) {
    const parameter = resolve(document, given) as unknown as Parameter;
    const { description, example } = parameter;
    const more = { ...(description && { description }), ...(example !== undefined && { examples: [example] }) };
    const shape = { ...inline(document, parameter.schema), ...more };
    if (parameter.in === "path") add(parameter.name, "path", { ...shape, ...segment }, true);
    if (parameter.in === "query") add(parameter.name, "query", shape, parameter.required === true);
    if (parameter.in === "header" && parameter.name === "Prefer") add("wait_seconds", "wait", waitSchema, false);
  }
  const body = inline(document, bodySchema(operation));
  const { dry_run: dryRun, ...fields } = (body.properties ?? {}) as Record<string, Json>;
  const required = (body.required ?? []) as string[];
  for (const [name, shape] of Object.entries(fields)) add(name, "body", shape, required.includes(name));
  return {
    name: String(operation.operationId),
    summary: String(operation.summary ?? ""),
    description: String(operation.description ?? ""),
    method: method.toUpperCase() as Operation["method"],
    path,
    isPaidOrder: operation["x-paid-order"] === true,
    hasDryRun: dryRun !== undefined,
    places,
    secrets,
    schema,
  };
}

function bodySchema(operation: Json): Json {
  const body = operation.requestBody as { content?: Record<string, { schema?: Json }> } | undefined;
  return body?.content?.["application/json"]?.schema ?? {};
}

/** Follows a reference within the document, such as `#/components/schemas/Contact`. */
function resolve(document: Json, part: Json): Json {
  const { $ref: reference } = part;
  if (typeof reference !== "string") return part;
  const found = reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), document);
  if (!isObject(found)) throw new Error(`${reference} does not exist`);
  return found;
}

/** The schema without references, because some clients do not follow them. A schema that contains itself ends as "anything". */
function inline(document: Json, schema: Json, within: readonly unknown[] = []): Json {
  const { $ref: reference } = schema;
  if (reference !== undefined) {
    if (within.includes(reference)) return {};
    return inline(document, resolve(document, schema), [...within, reference]);
  }
  const inlineAny = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inlineAny);
    return isObject(value) ? inline(document, value, within) : value;
  };
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, inlineAny(value)]));
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);
