/** The headers of answers, and the parameters of requests that many operations share. */

import type { AnswerHeader, HeaderName } from "#use-case/docs.ts";
import { takeDefault } from "#use-case/page-size.ts";
import type { Door } from "#use-case/use-case.ts";

interface Described {
  description: string;
  type: "string" | "integer";
  example: string | number;
}

const seconds = (description: string): Described => ({ description, type: "integer", example: 2 });
const count = (description: string, example: number): Described => ({ description, type: "integer", example });
const text = (description: string, example: string): Described => ({ description, type: "string", example });

const lookAgain = seconds("The seconds to wait before the next request.");

const answerHeaders: Record<HeaderName, Described> = {
  location: text("A path below this server: sign it unchanged.", "/v1/orders/CHG-GGRR9DSX-7NH"),
  "look-again": lookAgain,
  "check-after": lookAgain,
  "retry-after": seconds("The seconds to wait before sending the request again, or reading it again."),
  "preference-applied": text("The answer may have been held (RFC 7240).", "wait=30"),
  "x-paging-skipped": count("The rows before this page.", 0),
  "x-paging-take": count("The rows that a page has at most.", takeDefault),
  "x-paging-totalresults": count("The rows of the whole list.", 1),
  link: text(
    "The pages `first`, `next` and `prev`, as far as they exist.",
    `</v1/domains?take=${takeDefault}>; rel="first"`,
  ),
  allow: text("The methods that the path accepts.", "GET, PUT"),
  etag: text("Changes with what is shown.", '"0f3c5a7e91b24d68"'),
  "x-skipped-lines": text("The lines of the zone file that are not taken over.", "2, 3, 4"),
  "idempotency-replayed": text("`true`: the stored answer to an earlier request with this Idempotency-Key.", "true"),
};

/** Every answer has them. */
const commonHeaders: Record<string, Described> = {
  "x-request-id": text("Give it to the operator when something goes wrong.", "5f0c3a1b2d4e85f0c3a1b2d4"),
  "x-ratelimit-limit": count("The requests allowed per window.", 100),
  "x-ratelimit-usage": count("The requests used, including this one.", 1),
  "x-ratelimit-remaining": count("The requests left.", 99),
  "x-ratelimit-reset": count("The seconds until the full limit is available again.", 60),
  "cache-control": text("`no-store`, except for what is public.", "no-store"),
};

const describe = ({ description, type, example }: Described, required: boolean) => ({
  description,
  required,
  schema: { type },
  example,
});

export const commonHeaderComponents = Object.fromEntries(
  Object.entries(commonHeaders).map(([name, header]) => [name, describe(header, true)]),
);

const commonReferences = Object.fromEntries(
  Object.keys(commonHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

/** The headers of an answer, with those of every answer. */
export function describeHeaders(headers: readonly AnswerHeader[], lookAgainHeader: Door["lookAgainHeader"]) {
  const own = headers.map((header) => {
    const name = header.replace("?", "") as HeaderName;
    const shown = name === "look-again" ? lookAgainHeader : name;
    return [shown, describe(answerHeaders[name], name === header)] as const;
  });
  return { ...Object.fromEntries(own), ...commonReferences };
}

const requestHeader = (name: string, description: string, example: string, schema = {}) => ({
  name,
  in: "header",
  description,
  schema: { type: "string", ...schema },
  example,
});

/** By their names in the document's components. */
export const requestHeaders = {
  Prefer: requestHeader(
    "Prefer",
    "`wait=N`: how many seconds the answer may be held, at most 30 (RFC 7240).",
    "wait=2",
  ),
  IdempotencyKey: requestHeader(
    "Idempotency-Key",
    "A repeat within seven days with the same body gets the same answer.",
    "5b1f6f0e-9a0c-4d53-8d3b-6f2f1c0a7e11",
    { minLength: 1, maxLength: 255 },
  ),
  ContentDigest: requestHeader(
    "Content-Digest",
    "Required when a request with a body is signed by RFC 9421 (RFC 9530).",
    "sha-256=:/TWc6NwmFpO2tkCh0B11f+izzsRVvCQxHwCHP1idgFI=:",
  ),
  IfMatch: requestHeader("If-Match", "The `etag` of the zone that you have read: only then it is changed.", '"7"'),
  IfNoneMatch: requestHeader("If-None-Match", "The `etag` of what you have.", '"0f3c5a7e91b24d68"'),
};
export type RequestHeader = keyof typeof requestHeaders;

const pathParameter = (name: string, description: string, example: string) => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
  example,
});

/** By the names in the routes' paths. */
export const pathParameters: Readonly<Record<string, ReturnType<typeof pathParameter>>> = Object.fromEntries(
  [
    pathParameter("domain_name", "In any spelling: upper case, U-label or A-label.", "hello.example"),
    pathParameter("order_code", "As the `location` of the order's answer has it.", "REG-G43VRN9P-AV8"),
    pathParameter("identifier", "Of a hosting account.", "hello.example"),
    pathParameter("host_name", "A host name of a hosting account's site.", "www.hello.example"),
    pathParameter("webhook_id", "As its answer has it.", "wh_5c1f0a9be2d34b7e8a61"),
    pathParameter("event_id", "As a delivery has it.", "evt_1_8142_77"),
    pathParameter("subname", "Relative to the name; `@` is the name itself.", "www"),
    pathParameter("record_type", "A type of records, in any case.", "A"),
    pathParameter("change_id", "As its answer has it.", "7"),
    pathParameter("record_id", "As its answer has it.", "14"),
    pathParameter("account_id", "The number of a hosting account.", "999001"),
    pathParameter("job_id", "As the `location` of the order's answer has it.", "01000000-0000-8000-80a1-b2c3d4e5f607"),
  ].map((parameter) => [parameter.name, parameter]),
);
