/** One operation of openapi.json. */
import type { TSchema } from "typebox";
import { describeErrors } from "#api/openapi/errors.ts";
import { describeHeaders, pathParameters, type RequestHeader } from "#api/openapi/headers.ts";
import { exampleOf, examplesOf, type Shapes } from "#api/openapi/shapes.ts";
import type { ErrorCode } from "#errors.ts";
import type { Docs, HeaderName } from "#use-case/docs.ts";
import type { Scope } from "#use-case/use-case.ts";

export interface DescribedRoute {
  method: string;
  /** `:name` is one path segment. */
  path: string;
  docs: Docs;
  errors: readonly ErrorCode[];
  /** Any of them opens the route; absent when the request is not signed. */
  scopes?: readonly Scope[];
  changesNothing?: true | undefined;
  isSignatureOptional?: boolean;
}

const isWriting = ({ method, changesNothing }: DescribedRoute) => method !== "GET" && !changesNothing;

const paidText =
  "It is a paid order: it costs money, and an account may place a limited number of them in a day (UTC).";

/** How the signed forms look in a requirement: any entry is enough. The scopes are the roles of OpenAPI 3.1. */
const signedForms = [["hmac"], ["signature", "signatureInput"]];

/** An operation as OpenAPI has it. @param isV2 it is served under /v2, where some names differ */
export function describeOperation(shapes: Shapes, route: DescribedRoute, isV2: boolean) {
  const { docs, scopes } = route;
  const isWrite = isWriting(route);
  const isSigned = scopes !== undefined;
  const scopeNames = (scopes ?? []).map((scope) => `\`${scope}\``).join(" or ");
  const needs = isSigned ? `Scope: ${scopeNames}.` : "The request is not signed.";
  const anonymous = route.isSignatureOptional ? [{}] : [];
  const lookAgainHeader = isV2 ? "retry-after" : "check-after";
  return {
    operationId: isV2 ? `${docs.operation}V2` : docs.operation,
    tags: [tagOf(route.path)],
    summary: docs.summary,
    description: [docs.description, docs.isPaidOrder && paidText, needs].filter(Boolean).join(" "),
    // For programs that ask a person before they spend money.
    ...(docs.isPaidOrder && { "x-paid-order": true }),
    ...(docs.takesZoneFile && { "x-zone-file": true }),
    security: [
      ...anonymous,
      ...(scopes ?? []).flatMap((scope) =>
        signedForms.map((schemes) => Object.fromEntries(schemes.map((scheme) => [scheme, [scope]]))),
      ),
    ],
    parameters: describeParameters(shapes, route),
    ...(docs.body && { requestBody: describeBody(shapes, docs.body) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(docs.answers).map(([status, answer]) => {
          const replayed = isWrite && isSigned ? (["idempotency-replayed?"] as const) : [];
          const names = [...(answer.headers ?? []), ...replayed];
          const headers = describeHeaders(names, lookAgainHeader);
          // As a second content, each would make the type of a generated client's answer a list or a text.
          const others = {
            ...(answer.isCsvToo && { "x-csv": true }),
            ...(answer.isStreamToo && { "x-event-stream": true }),
            ...(answer.isZoneFileToo && { "x-zone-file": true }),
          };
          return [
            status,
            { description: answer.description, headers, ...others, ...describeContent(shapes, answer.body) },
          ];
        }),
      ),
      ...describeErrors(route.errors, { isSigned, isWrite }),
    },
  };
}

/** In the order of the page. */
export const tags = [
  { name: "Domains", description: "The names of your portfolio, and what changes them." },
  { name: "Orders", description: "What you have ordered about names." },
  { name: "DNS", description: "Zones of names, and their records." },
  { name: "Renewals", description: "What happens at the end of each term." },
  { name: "Hosting accounts", description: "FTP, web space and host names." },
  { name: "Events", description: "What has happened, as it happens." },
  { name: "Webhooks", description: "Events, sent to an address of yours." },
  { name: "About this API", description: "Without a signature." },
] as const;
type TagName = (typeof tags)[number]["name"];

/** By the first segment of a path, behind `/v2` where it has that. */
const tagsOfPaths: Readonly<Record<string, TagName>> = {
  domains: "Domains",
  orders: "Orders",
  provisioningjobs: "Orders",
  renewals: "Renewals",
  hostingaccounts: "Hosting accounts",
  accounts: "Hosting accounts",
  linuxhostings: "Hosting accounts",
  servicepacks: "Hosting accounts",
  events: "Events",
  webhooks: "Webhooks",
  dns: "DNS",
};
const tagOf = (path: string): TagName =>
  /^\/domains\/:domain_name\/(?:dns|records)(?:\/|$)/.test(path)
    ? "DNS"
    : (tagsOfPaths[path.replace(/^\/v2/, "").split("/")[1]!] ?? "About this API");

function describeParameters(shapes: Shapes, route: DescribedRoute) {
  const { path, docs, scopes } = route;
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => {
    if (!pathParameters[name!]) throw new Error(`describe the path's parameter ${name} in headers.ts`);
    return { $ref: `#/components/parameters/${name}` };
  });
  const required: readonly string[] = docs.query?.required ?? [];
  const inQuery = Object.entries((docs.query?.properties ?? {}) as Record<string, TSchema>).map(([name, shape]) => {
    const { description, ...schema } = shapes.describe(shape);
    return {
      name,
      in: "query",
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    };
  });
  const answers = (name: HeaderName) =>
    Object.values(docs.answers).some(({ headers = [] }) => headers.some((header) => header.startsWith(name)));
  const headers: RequestHeader[] = [
    ...(answers("preference-applied") ? (["Prefer"] as const) : []),
    ...(answers("etag") && !scopes ? (["IfNoneMatch"] as const) : []),
    ...(scopes && isWriting(route) ? (["IdempotencyKey"] as const) : []),
    ...(scopes?.includes("dns:update") ? (["IfMatch"] as const) : []),
    ...(scopes && docs.body ? (["ContentDigest"] as const) : []),
  ];
  return [...inPath, ...inQuery, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))];
}

function describeBody(shapes: Shapes, body: TSchema) {
  const examples = examplesOf(body).map((value, index) => [`example${index + 1}`, { value }]);
  return {
    required: true,
    content: { "application/json": { schema: shapes.describe(body), examples: Object.fromEntries(examples) } },
  };
}

function describeContent(shapes: Shapes, body: TSchema | undefined) {
  if (!body) return {};
  return { content: { "application/json": { schema: shapes.describe(body), example: exampleOf(body) } } };
}
