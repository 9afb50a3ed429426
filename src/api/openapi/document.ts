/** openapi.json: the whole API as OpenAPI 3.1, made of the tables of routes and of what each use case says of itself. */
import { errorExamples, errorSchema, sharedErrors } from "#api/openapi/errors.ts";
import { commonHeaderComponents, pathParameters, requestHeaders } from "#api/openapi/headers.ts";
import { type DescribedRoute, describeOperation, tags } from "#api/openapi/operation.ts";
import { createShapes } from "#api/openapi/shapes.ts";
import manifest from "../../../package.json" with { type: "json" };

const description = `A registrar's API for resellers: domain names and hosting accounts.

Every request is signed, in one of two ways, with an API key and its secret; both are described under the security schemes.
Every path without \`/v2\` is served bare and under \`/v1\`, with the same resources. The paths under \`/v2\` have the same
domains, accounts and keys in other shapes.

\`location\` and \`link\` contain paths: append them to the server's address, and sign them unchanged. Unknown query parameters
and JSON fields are ignored, and a later release can add fields to answers: ignore those that you do not know. A path that does not
exist gets 404 \`resource_not_found\`; a method that a path does not accept gets 405 \`method_not_allowed\`.`;

const securitySchemes = {
  hmac: {
    // `type: http` would also be correct, but generators refuse schemes that they do not know.
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description:
      "`Authorization: hmac {key}:{signature}:{nonce}:{timestamp}`. The signature is the base64 of the HMAC-SHA256, with the secret, of these parts without separators: the key; the method in lower case; path and query exactly as sent, URL-encoded as one text; the timestamp in unix seconds; the nonce, which this key has not used yet; the base64 of the MD5 of the body's bytes, or nothing without a body.",
  },
  signature: {
    type: "apiKey",
    in: "header",
    name: "Signature",
    description:
      "HTTP Message Signatures (RFC 9421) with `hmac-sha256`: `sig1=:…:`. It covers `@method`, `@path`, `@query`, and `content-digest` when there is a body.",
  },
  signatureInput: {
    type: "apiKey",
    in: "header",
    name: "Signature-Input",
    description: "RFC 9421: the covered components, and the parameters `created`, `nonce` and `keyid`.",
  },
};

/** @param routes every route of v1 and v2; those of v2 begin with /v2 */
export function describeApi(routes: readonly DescribedRoute[]) {
  const shapes = createShapes();
  const paths = [...Map.groupBy(routes, ({ path }) => path)].map(([path, at]) => {
    const isV2 = path.startsWith("/v2/");
    const operations = at.map((route) => [route.method.toLowerCase(), describeOperation(shapes, route, isV2)]);
    const servers = isV2 && { servers: [{ url: "/", description: "This path has its prefix." }] };
    return [path.replace(/:(\w+)/g, "{$1}"), { ...servers, ...Object.fromEntries(operations) }] as const;
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "Deedhouse",
      version: manifest.version,
      description,
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [
      { url: "/", description: "Bare." },
      { url: "/v1", description: "The same resources under a prefix." },
    ],
    tags,
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes,
      parameters: { ...pathParameters, ...requestHeaders },
      headers: commonHeaderComponents,
      responses: sharedErrors,
      examples: errorExamples,
      schemas: { Error: errorSchema, ...shapes.described },
    },
  };
}
