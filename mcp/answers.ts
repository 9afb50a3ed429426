/** What a tool answers: JSON for the assistant, with what the headers say, and errors that say what to do. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { ApiError, ConnectionError, isTransient, unexpectedResponseCode } from "../client/sdk/errors.ts";
import { pageOf } from "../client/sdk/paging.ts";
import { answerOf, idFromLocation, type Reply } from "../client/sdk/response.ts";
import type { Operation } from "./document.ts";

/** About 15,000 tokens: an assistant that reads more loses the thread. */
const answerCharsMax = 50_000;

export const resultOf = (answer: object): CallToolResult => ({
  content: [{ type: "text", text: JSON.stringify(answer) }],
});

const errorOf = (answer: object): CallToolResult => ({ ...resultOf(answer), isError: true });

/** A mistake that this server has found itself, before anything was sent. */
export const mistakeOf = (code: string, text: string): CallToolResult =>
  errorOf({ error_code: code, error_text: text });

/** An answer of the service. A list that is too long is cut after whole rows, and says how to get the rest. */
export function describeReply(operation: Operation, reply: Reply): object {
  const data = reply.text === "" ? undefined : parseJson(reply);
  const { status, location, checkAfterSeconds } = answerOf(reply, data);
  return {
    status,
    ...(location !== undefined && { location, id: idFromLocation(reply) }),
    ...(checkAfterSeconds !== undefined && { check_after_seconds: checkAfterSeconds }),
    ...(Array.isArray(data) ? describeList(operation, reply, data) : { ...(data !== undefined && { data }) }),
  };
}

/** @throws ApiError */
export function parseJson({ status, text }: Reply): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const errorText = "the answer is not JSON: another service may be answering at this address";
    throw new ApiError({ status, errorCode: unexpectedResponseCode, errorText });
  }
}

function describeList(operation: Operation, reply: Reply, rows: unknown[]): object {
  const { total, skipped, nextQuery } = pageOf(reply);
  const kept = rows.slice(0, countFitting(rows));
  const position = { ...(skipped !== undefined && { skipped }), ...(total !== undefined && { total }) };
  if (kept.length < rows.length) {
    const left_off = rows.length - kept.length;
    const isPaged = operation.places.has("take");
    const advice = isPaged
      ? `Call it again with take: ${kept.length}, and then follow next_page.`
      : "Ask for less at once.";
    return { data: kept, ...position, left_off, advice };
  }
  return { data: rows, ...position, ...(nextQuery !== undefined && { next_page: argumentsOf(operation, nextQuery) }) };
}

/** How many rows from the beginning fit into an answer; at least one. */
function countFitting(rows: unknown[]): number {
  let chars = 0;
  const tooMany = rows.findIndex((row) => {
    chars += JSON.stringify(row).length + 1;
    return chars > answerCharsMax;
  });
  return tooMany < 0 ? rows.length : Math.max(1, tooMany);
}

/** The arguments with which the tool reads the page that a link names. */
function argumentsOf({ schema }: Operation, query: string): object {
  const values = [...new URLSearchParams(query)].map(([name, value]) => {
    const type = schema.properties[name]?.type;
    if (type === "integer") return [name, Number(value)];
    return [name, type === "boolean" ? value === "true" : value];
  });
  return Object.fromEntries(values);
}

/**
 * Whether a write that failed like this may have been carried out, or can be if it is sent again. Its repeat must have the same
 * Idempotency-Key. A 401 can follow an attempt whose answer was lost.
 */
export function mayBeRepeated(error: unknown): boolean {
  if (isTransient(error)) return true;
  if (!(error instanceof ApiError)) return false;
  return error.status === 401 || [unexpectedResponseCode, "idempotency_in_progress"].includes(error.errorCode);
}

/** @throws what is no failure of a call */
export function describeFailure(error: unknown): CallToolResult {
  if (error instanceof ConnectionError) {
    const what_to_do =
      "Call it again later. If this stays so, the person who runs this server checks: deedhouse doctor";
    return errorOf({ error_code: "no_answer", error_text: error.message, what_to_do });
  }
  if (!(error instanceof ApiError)) throw error;
  const { status, errorCode, errorText, validationErrors, retryAfterSeconds, location, requestId } = error;
  const what_to_do = adviceFor(error);
  return errorOf({
    error_code: errorCode,
    error_text: errorText,
    http_status: status,
    ...(validationErrors.length > 0 && {
      fields: validationErrors.map(({ field, errorText: text }) => ({ field, error_text: text })),
    }),
    ...(retryAfterSeconds !== undefined && { retry_after_seconds: retryAfterSeconds }),
    ...(location !== undefined && { location }),
    ...(what_to_do && { what_to_do }),
    ...(requestId !== undefined && { request_id: requestId }),
  });
}

function adviceFor({ status, errorCode, retryAfterSeconds, validationErrors }: ApiError): string | undefined {
  if (errorCode === "authorization_scope_missing") {
    return "The key does not have the scope that this tool's description names. Only the operator can give a key with it.";
  }
  if (status === 401) return "The person who runs this server checks its URL, key and secret: deedhouse doctor";
  if (retryAfterSeconds !== undefined) return `Call it again after ${retryAfterSeconds} s.`;
  if (status >= 500) return "Call it again later. If this stays so, tell the operator the request_id.";
  return validationErrors.length > 0 ? "Correct the fields that are named, and call it again." : undefined;
}
