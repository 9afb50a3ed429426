/** A request that its sender describes in JSON, to learn what the service makes of it. */
import { METHODS } from "node:http";
import { bodyBytesMax, targetBytesMax } from "#api/request-limits.ts";
import type { SentRequest } from "#api/signing/credentials.ts";
import { descriptionShape } from "#api/signing/explanation-shape.ts";
import { parseTarget } from "#api/signing/signature.ts";
import { invalidField } from "#errors.ts";
import { parseBody } from "#use-case/body.ts";

const headersMax = 100;

/** @throws ApiError `bad_request` that never repeats a value */
export function parseDescribedRequest(rawBody: Buffer): SentRequest {
  const { method, target, headers, body, body_base64 } = parseBody(descriptionShape, rawBody);
  if (!METHODS.includes(method)) {
    throw invalidField("method", "Give the method as it was sent, in upper case: GET, POST, PUT or DELETE.");
  }
  return {
    method,
    target: readTarget(target),
    headers: joinLines(readLines(headers)),
    body: readBody(body, body_base64),
  };
}

function readTarget(text: string): string {
  const target = /^[!-~]*$/.test(text) ? parseTarget(text) : undefined;
  if (target === undefined) {
    const wanted =
      "Give path and query exactly as they were sent: they begin with / and have only visible ASCII characters.";
    throw invalidField("target", wanted);
  }
  if (text.length > targetBytesMax) throw invalidField("target", `The API takes at most ${targetBytesMax} bytes.`);
  return target;
}

function readBody(text: string | undefined, base64: string | undefined): Buffer {
  if (text !== undefined && base64 !== undefined) {
    throw invalidField("body_base64", "Give the body either as text in body, or as base64 in body_base64.");
  }
  const body = base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
  if (base64 !== undefined && body.toString("base64") !== base64) {
    throw invalidField("body_base64", "This is not base64, with its padding and without line breaks.");
  }
  if (body.length <= bodyBytesMax) return body;
  throw invalidField(base64 === undefined ? "body" : "body_base64", `The API takes at most ${bodyBytesMax} bytes.`);
}

type Line = [name: string, value: string];

function readLines(headers: unknown): Line[] {
  const lines: unknown = Array.isArray(headers) ? headers : Object.entries(headers ?? {});
  if (typeof headers !== "object" || !(lines as unknown[]).every(isLine)) {
    const wanted = "Give an object with a text for each name, or a list of pairs of name and text, each on one line";
    throw invalidField("headers", `${wanted}.`);
  }
  if ((lines as Line[]).length > headersMax) throw invalidField("headers", `Give at most ${headersMax} headers.`);
  return lines as Line[];
}

/** A field line as RFC 9112 section 5 allows it. */
function isLine(line: unknown): line is Line {
  if (!Array.isArray(line) || line.length !== 2) return false;
  const [name, value] = line as unknown[];
  if (typeof name !== "string" || typeof value !== "string") return false;
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && !/[\0\r\n]/.test(value);
}

/** Node keeps the first line of these; it joins the lines of others. */
const singleHeaders = new Set(
  `age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since
   last-modified location max-forwards proxy-authorization referer retry-after server user-agent`.split(/\s+/),
);

/** The headers as Node hands them to the server. */
export function joinLines(lines: readonly Line[]): Record<string, string> {
  const joined = new Map<string, string>();
  for (const [name, text] of lines) {
    const key = name.toLowerCase();
    const value = text.replace(/^[ \t]+|[ \t]+$/g, "");
    const first = joined.get(key);
    if (first === undefined) joined.set(key, value);
    else if (!singleHeaders.has(key)) joined.set(key, `${first}${key === "cookie" ? ";" : ","} ${value}`);
  }
  return Object.fromEntries(joined);
}
