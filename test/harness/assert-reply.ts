/** Promises that every answer keeps. */
import assert from "node:assert/strict";
import { catalogue, type ErrorCode } from "#errors.ts";
import type { Reply } from "./signed-request.ts";

/** Node writes these itself, in its own case. */
const framingHeaders = new Set(["Date", "Connection", "Keep-Alive", "Transfer-Encoding"]);

export function assertFullForm(reply: Reply): void {
  const { headers, status, text } = reply;
  const shown = `${status} ${JSON.stringify(headers)} ${text}`;
  for (const name of Object.keys(headers)) assert.ok(name === name.toLowerCase() || framingHeaders.has(name), shown);
  assert.match(headers["x-request-id"] ?? "", /^[0-9a-f]{24}$/, shown);
  for (const name of ["limit", "usage", "remaining", "reset"]) {
    assert.match(headers[`x-ratelimit-${name}`] ?? "", /^[0-9]+$/, shown);
  }
  const [limit, usage, remaining] = ["limit", "usage", "remaining"].map((name) =>
    Number(headers[`x-ratelimit-${name}`]),
  );
  assert.equal((usage ?? 0) + (remaining ?? 0), limit, shown);
  assert.equal(headers["cache-control"], "no-store", shown);
  if (status === 202 || status === 204) {
    assert.equal(headers["content-length"], "0", shown);
    assert.equal(headers["content-type"], undefined, shown);
    assert.equal(text, "");
  } else {
    assert.equal(headers["content-type"], "application/json; charset=utf-8", shown);
  }
}

export interface ErrorBody {
  error_code: string;
  error_text: string;
  validation_errors?: { error_code: string; error_text: string; field: string }[];
}

/** Checks the full form of an error, with the status of its code in the catalogue. Returns its body. */
export function assertError(reply: Reply, code: ErrorCode): ErrorBody {
  assertFullForm(reply);
  const body = reply.body as ErrorBody;
  assert.equal(body?.error_code, code, `${reply.status} ${reply.text}`);
  assert.equal(reply.status, catalogue[code].status);
  const { error_text, validation_errors, ...rest } = body;
  assert.deepEqual(rest, { error_code: code });
  assert.ok(error_text.length > 0);
  for (const entry of validation_errors ?? []) {
    assert.deepEqual(Object.keys(entry).sort(), ["error_code", "error_text", "field"]);
    for (const value of Object.values(entry)) assert.equal(typeof value, "string");
  }
  if (validation_errors) assert.ok(validation_errors.length > 0 && reply.status === 400);
  if (reply.status === 503 || reply.status === 429) assert.match(reply.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  return body;
}
