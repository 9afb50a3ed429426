/** The answers of an operation that are errors, by status. Those that only the edge gives are described once. */
import { edgeErrors } from "#api/answer-error.ts";
import { describeHeaders } from "#api/openapi/headers.ts";
import { catalogue, type ErrorCode, errorCodes, errorHeaders } from "#errors.ts";
import type { AnswerHeader } from "#use-case/docs.ts";

export const errorSchema = {
  type: "object",
  required: ["error_code", "error_text"],
  properties: {
    error_code: { type: "string", enum: errorCodes, description: "Stable; a later release can have more of them." },
    error_text: { type: "string", description: "For people; it may change." },
    validation_errors: {
      type: "array",
      description: "Of a 400 about fields.",
      items: {
        type: "object",
        required: ["error_code", "error_text", "field"],
        properties: {
          error_code: { type: "string", enum: ["missing", "invalid"] },
          error_text: { type: "string" },
          field: { type: "string" },
        },
      },
    },
  },
};

/** By code. */
export const errorExamples = Object.fromEntries(
  errorCodes.map((code) => [code, { summary: catalogue[code].text, value: exampleOfError(code) }]),
);

function exampleOfError(code: ErrorCode) {
  if (code !== "bad_request") return { error_code: code, error_text: catalogue[code].text };
  const error_text = "This is not a valid domain name.";
  return {
    error_code: code,
    error_text: `domain_name: ${error_text}`,
    validation_errors: [{ error_code: "invalid", error_text, field: "domain_name" }],
  };
}

/** What only a write with an Idempotency-Key can get. */
const ofWrites: readonly ErrorCode[] = ["idempotency_in_progress", "idempotency_key_reused"];
/** What a request can get that is not signed. */
const ofUnsigned: readonly ErrorCode[] = [
  "request_timeout",
  "request_too_large",
  "rate_limit_exceeded",
  "request_header_too_large",
  "internal_error",
  "service_unavailable",
];

export interface Request {
  isSigned: boolean;
  isWrite: boolean;
}

/** What the edge answers to such a request, whatever its use case. Every request can be malformed. */
function edgeErrorsOf({ isSigned, isWrite }: Request): readonly ErrorCode[] {
  const listed = isSigned ? edgeErrors.filter((code) => isWrite || !ofWrites.includes(code)) : ofUnsigned;
  return ["bad_request", ...listed];
}

const byStatus = (codes: Iterable<ErrorCode>) => Map.groupBy(new Set(codes), (code) => catalogue[code].status);

/** @param own the codes that the use case lists */
export function describeErrors(own: readonly ErrorCode[], request: Request) {
  const edge = edgeErrorsOf(request);
  const groups = [...byStatus([...own, ...edge])].sort(([left], [right]) => left - right);
  return Object.fromEntries(
    groups.map(([status, codes]) => {
      const isEdges = codes.every((code) => edge.includes(code));
      const name = sharedName(status, request);
      if (isEdges && name in sharedErrors) return [status, { $ref: `#/components/responses/${name}` }];
      // The final refusals of a use case are stored under the Idempotency-Key.
      return [status, describe(codes, request.isSigned && request.isWrite ? ["idempotency-replayed?"] : [])];
    }),
  );
}

const sharedName = (status: number, { isSigned, isWrite }: Request) =>
  `Error${status}${isSigned ? "" : "Unsigned"}${isWrite && status === 409 ? "OfWrite" : ""}`;

function describe(codes: readonly ErrorCode[], more: readonly AnswerHeader[] = []) {
  const named = [...new Set(codes.flatMap(errorHeaders))];
  const headers = named.map((header): AnswerHeader => {
    const isAlways = codes.every((code) => (errorHeaders(code) as readonly string[]).includes(header));
    return isAlways || header.endsWith("?") ? header : `${header as "location"}?`;
  });
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    headers: describeHeaders([...headers, ...more], "retry-after"),
    content: {
      "application/json": {
        schema: { $ref: "#/components/schemas/Error" },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** The errors of the edge by name, for the document's components. */
export const sharedErrors = Object.fromEntries(
  [
    { isSigned: true, isWrite: true },
    { isSigned: true, isWrite: false },
    { isSigned: false, isWrite: false },
  ].flatMap((request) =>
    [...byStatus(edgeErrorsOf(request))].map(([status, codes]) => [sharedName(status, request), describe(codes)]),
  ),
);
