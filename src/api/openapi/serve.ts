/** GET /openapi.json */
import { createHash } from "node:crypto";
import Type from "typebox";
import type { EdgeRequest } from "#api/run-route.ts";
import type { Docs } from "#use-case/docs.ts";

/** A release changes the document, so a client may keep it for a while. */
const cacheSeconds = 3_600;

export const documentDocs: Docs = {
  operation: "readOpenApi",
  summary: "Reads this description of the API.",
  description: "Also served under /v2. With `If-None-Match`, the answer is 304 while the description has not changed.",
  answers: {
    200: {
      description: "OpenAPI 3.1.",
      body: Type.Record(Type.String(), Type.Unknown(), { examples: [{ openapi: "3.1.0" }] }),
      headers: ["etag"],
    },
    304: { description: "It is what you have.", headers: ["etag"] },
  },
};

/** Answers with a document that is made once, when it is asked for first. */
export function documentAnswerer(make: () => object) {
  let made: { body: Buffer; headers: Record<string, string> } | undefined;
  return ({ headers: { "if-none-match": known } }: Pick<EdgeRequest, "headers">) => {
    made ??= prepare(make());
    const { body, headers } = made;
    if (isKnown(known, headers.etag!)) return { status: 304, headers, body: undefined };
    return { status: 200, headers: { ...headers, "content-type": "application/json; charset=utf-8" }, body };
  };
}

function prepare(document: object) {
  const body = Buffer.from(JSON.stringify(document));
  const etag = `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;
  return { body, headers: { etag, "cache-control": `public, max-age=${cacheSeconds}` } };
}

/** RFC 9110 §13.1.2: a weak comparison. */
const isKnown = (known: string | undefined, etag: string) =>
  known?.split(",").some((tag) => ["*", etag, `W/${etag}`].includes(tag.trim())) ?? false;
