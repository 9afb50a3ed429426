/** The parts of openapi.json that the reference shows, and how its references are followed. */
export interface Schema {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  enum?: (string | number)[];
  const?: unknown;
  default?: unknown;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  examples?: unknown[];
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

export interface Header {
  description: string;
  required: boolean;
  example: unknown;
}

interface Content {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface Answer {
  description: string;
  headers?: Record<string, Header>;
  content?: { "application/json": Content };
}

export interface Operation {
  operationId: string;
  tags: [tag: string];
  summary: string;
  description: string;
  security: Record<string, string[]>[];
  parameters: Parameter[];
  requestBody?: { content: { "application/json": Content } };
  responses: Record<string, Answer>;
}

export interface ApiDocument {
  info: { version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    securitySchemes: Record<string, { name: string; description: string }>;
    headers: Record<string, Header>;
    responses: Record<string, Answer>;
    examples: Record<string, { summary: string; value: unknown }>;
    schemas: Record<string, Schema>;
  };
}

/** An operation with the place that it has in the document. */
export interface PlacedOperation extends Operation {
  method: string;
  path: string;
}

export function operationsOf({ paths }: ApiDocument): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, at]) =>
    Object.entries(at)
      .filter(([method]) => method !== "servers")
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
}

/** The last part of "#/components/schemas/Domain". */
export const nameOf = (reference: string) => reference.slice(reference.lastIndexOf("/") + 1);

/** What a reference leads to, or the part itself. */
export function follow<Part>(document: ApiDocument, part: Part): Part {
  const { $ref } = part as { $ref?: string };
  if ($ref === undefined) return part;
  const keys = $ref.split("/").slice(1);
  return keys.reduce<unknown>((found, key) => (found as Record<string, unknown>)[key], document) as Part;
}

/** The codes of an answer that is an error. */
export const codesOf = (answer: Answer): string[] => Object.keys(answer.content?.["application/json"].examples ?? {});
