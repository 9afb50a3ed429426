// A small stand-in for the service's side of the contract. It checks signatures with an independent implementation (nothing of
// sdk/sign.ts), remembers nonces, and can be made to fail. The test sets its answers.

import { createHash, createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const apiKey = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
export const apiSecret = "A1B2C3D4E5F60718293A4B5C6D7E8F90A1B2C3D4E5F60718293A4B5C6D7E8F90";

/** An answer to return; `drop` processes the request and closes the connection instead of answering. */
export interface Canned {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
}
export type Fault = Canned | "drop";

export interface SeenRequest {
  method: string;
  target: string;
  headers: IncomingMessage["headers"];
  body: string;
}

export interface StandInService extends AsyncDisposable {
  url: string;
  /** Every request received, in order. */
  seen: SeenRequest[];
  /** Used from front to back, one per request, instead of the answer. */
  faults: Fault[];
  /** By method and target; an array returns its answers in turn, and repeats the last one. */
  answers: Record<string, Canned | Canned[]>;
}

const rateLimitHeaders = {
  "x-ratelimit-limit": "100",
  "x-ratelimit-usage": "7",
  "x-ratelimit-remaining": "93",
  "x-ratelimit-reset": "42",
};

/** Starts it on a free loopback port. */
export async function startStandInService(): Promise<StandInService> {
  const seen: SeenRequest[] = [];
  const faults: Fault[] = [];
  const answers: StandInService["answers"] = {};
  const usedNonces = new Set<string>();

  const server = createServer(async (request, response) => {
    const body = await readBody(request);
    const { method = "", url: target = "" } = request;
    seen.push({ method, target, headers: request.headers, body: body.toString("utf8") });
    const fault = faults.shift();
    if (fault && fault !== "drop" && (fault.status === 429 || fault.status >= 500)) return reply(response, fault);
    const refusal = checkSignature(request, body, usedNonces);
    if (refusal) return reply(response, refusal);
    if (fault === "drop") return request.socket.destroy();
    reply(response, fault ?? nextAnswer(answers, `${method} ${target}`));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    faults,
    answers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function nextAnswer(answers: StandInService["answers"], key: string): Canned {
  const answer = answers[key];
  if (Array.isArray(answer)) return (answer.length > 1 ? answer.shift() : answer[0]) as Canned;
  return answer ?? refuse(404, "resource_not_found");
}

/** A refusal in the service's format. */
export function refuse(status: number, errorCode: string, headers: Record<string, string> = {}): Canned {
  return { status, headers, body: { error_code: errorCode, error_text: `Text of ${errorCode}.` } };
}

/** A 202 in the service's format. */
export function accepted(location: string, checkAfterSeconds: number): Canned {
  return { status: 202, headers: { location, "check-after": String(checkAfterSeconds) } };
}

function checkSignature(request: IncomingMessage, body: Buffer, usedNonces: Set<string>): Canned | undefined {
  const match = /^hmac ([0-9a-f]{32}):([^:]+):([A-Za-z0-9._-]{1,128}):([1-9][0-9]{9})$/.exec(
    request.headers.authorization ?? "",
  );
  if (!match) return refuse(401, "auth_authorization_header_invalid_format");
  const [, key = "", signature, nonce = "", timestamp] = match;
  const encodedTarget = [...(request.url ?? "")].map(percentEncode).join("");
  const digest = body.length > 0 ? createHash("md5").update(body).digest("base64") : "";
  const text = `${key}${request.method?.toLowerCase()}${encodedTarget}${timestamp}${nonce}${digest}`;
  const wanted = createHmac("sha256", Buffer.from(apiSecret, "utf8")).update(text).digest("base64");
  if (key !== apiKey || signature !== wanted) return refuse(401, "authorization_hmac_invalid");
  if (usedNonces.has(nonce)) return refuse(401, "authorization_nonce_reused");
  usedNonces.add(nonce);
}

function percentEncode(character: string): string {
  if (/[A-Za-z0-9\-_.~!*'()]/.test(character)) return character;
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function reply(response: ServerResponse, { status, body, headers = {} }: Canned): void {
  response.writeHead(status, {
    "x-request-id": "req-1",
    ...rateLimitHeaders,
    ...(body === undefined ? { "content-length": "0" } : { "content-type": "application/json; charset=utf-8" }),
    ...headers,
  });
  response.end(body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body));
}
