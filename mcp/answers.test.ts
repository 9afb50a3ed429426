import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, ConnectionError } from "../client/sdk/errors.ts";
import { describeFailure, describeReply, mayBeRepeated } from "./answers.ts";
import { readOperations } from "./document.ts";

const parameters = [{ name: "take", in: "query", schema: { type: "integer" } }];
const get = { operationId: "listThings", security: [{ hmac: [] }] };
const paths = { "/things": { get: { ...get, parameters } }, "/others": { get: { ...get, operationId: "listOthers" } } };
const [things, others] = readOperations({ paths });

const replyWith = (rows: unknown, headers: Record<string, string> = {}) => ({
  status: 200,
  headers: new Headers(headers),
  text: JSON.stringify(rows),
});
const rows = (count: number, chars: number) =>
  Array.from({ length: count }, (_, n) => ({ n, text: "x".repeat(chars) }));

test("a list that is too long is cut after a whole row, and says how to read the rest", () => {
  const link = '</v1/things?cursor=abc&take=100>; rel="next"';
  const cut = describeReply(things!, replyWith(rows(100, 1_000), { link, "x-paging-totalresults": "300" })) as {
    data: unknown[];
    left_off: number;
    advice: string;
  };
  assert.ok(JSON.stringify(cut).length < 51_000);
  assert.equal(cut.data.length + cut.left_off, 100);
  assert.match(cut.advice, new RegExp(`take: ${cut.data.length}, `));
  // The link leads past rows that were left off.
  assert.ok(!("next_page" in cut));
  const whole = describeReply(things!, replyWith(rows(2, 10), { link, "x-paging-totalresults": "300" }));
  assert.deepEqual(whole, { status: 200, data: rows(2, 10), total: 300, next_page: { cursor: "abc", take: 100 } });
});

test("a list without pages that is too long has at least one row, and asks for less", () => {
  const cut = describeReply(others!, replyWith(rows(2, 60_000)));
  assert.deepEqual(cut, { status: 200, data: rows(1, 60_000), left_off: 1, advice: "Ask for less at once." });
});

test("an answer of something else than the service is an error of its own", () => {
  const reply = { status: 200, headers: new Headers(), text: "<html>" };
  assert.throws(() => describeReply(things!, reply), { errorCode: "unexpected_response" });
});

const refusal = (status: number, errorCode: ApiError["errorCode"], more = {}) =>
  new ApiError({ status, errorCode, errorText: "Text.", ...more });
const adviceOf = (error: unknown) =>
  JSON.parse((describeFailure(error).content[0] as { text: string }).text).what_to_do;

test("a failure says what to do", () => {
  assert.match(adviceOf(new ConnectionError("no answer", undefined)), /later/);
  assert.match(adviceOf(refusal(401, "authorization_hmac_invalid")), /deedhouse doctor/);
  assert.match(adviceOf(refusal(429, "rate_limit_exceeded", { retryAfterSeconds: 7 })), /after 7 s/);
  assert.match(adviceOf(refusal(500, "internal_error")), /request_id/);
  const field = { errorCode: "invalid", errorText: "Wrong.", field: "years" };
  assert.match(adviceOf(refusal(400, "bad_request", { validationErrors: [field] })), /Correct the fields/);
  assert.throws(() => describeFailure(new RangeError("a mistake of ours")), RangeError);
});

test("a write may be repeated when its end is not known, and not after a refusal", () => {
  const lost = [
    new ConnectionError("no answer", undefined),
    refusal(503, "service_unavailable"),
    refusal(429, "rate_limit_exceeded"),
    refusal(401, "authorization_timestamp_invalid"),
    refusal(409, "idempotency_in_progress"),
    refusal(404, "unexpected_response"),
  ];
  for (const error of lost) assert.ok(mayBeRepeated(error), error.message);
  const refused = [
    refusal(400, "bad_request"),
    refusal(409, "domain_availability_taken"),
    refusal(403, "authorization_scope_missing"),
  ];
  for (const error of refused) assert.ok(!mayBeRepeated(error), error.message);
});
