/** Signs and sends requests as a client does, independently of the server's code. Tests can alter every part. */
import { createHash, createHmac, randomBytes } from "node:crypto";
import { request } from "node:http";
import type { Clock } from "#lib/clock.ts";
import type { KeyWithSecret } from "#resellers/keys.ts";

export interface SignedRequestOptions {
  /** An object is sent as JSON; text and bytes are sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  nonce?: string;
  /** Unix seconds. */
  timestamp?: number;
  /** Replaces the whole header; null sends none. */
  authorization?: string | null;
  /** The signed target, when it differs from the sent one. */
  signedTarget?: string;
  signedMethod?: string;
  /** The source address of the connection: any address of the loopback network. */
  localAddress?: string;
}

export interface Reply {
  status: number;
  statusMessage: string;
  /** Names as received. */
  headers: Record<string, string>;
  text: string;
  /** The parsed JSON; undefined without a body. */
  body: unknown;
}

interface Call extends SignedRequestOptions {
  url: string;
  key: KeyWithSecret;
  clock: Clock;
  method: string;
  target: string;
}

export function newNonce(): string {
  return randomBytes(16).toString("hex");
}

/** The Authorization header of a request. */
export function authorize(call: Omit<Call, "url">): string {
  const { key, clock, method, target, nonce = newNonce() } = call;
  const timestamp = call.timestamp ?? Math.floor(clock.now().getTime() / 1000);
  const body = bodyBytes(call.body);
  const digest = body.length === 0 ? "" : createHash("md5").update(body).digest("base64");
  const encoded = encodeURIComponent(call.signedTarget ?? target);
  const text = `${key.id}${(call.signedMethod ?? method).toLowerCase()}${encoded}${timestamp}${nonce}${digest}`;
  const signature = createHmac("sha256", key.secret.reveal()).update(text).digest("base64");
  return `hmac ${key.id}:${signature}:${nonce}:${timestamp}`;
}

function bodyBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : (JSON.stringify(body) ?? ""));
}

/** @throws AssertionError when openapi.json has no such answer */
export async function sendSigned(call: Call): Promise<Reply> {
  const [reply, { assertDescribed }] = await Promise.all([exchange(call), import("./described.ts")]);
  assertDescribed(call, reply);
  return reply;
}

function exchange(call: Call): Promise<Reply> {
  const body = bodyBytes(call.body);
  const authorization = call.authorization === undefined ? authorize(call) : call.authorization;
  const { hostname, port } = new URL(call.url);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        hostname,
        port,
        method: call.method,
        path: call.target,
        agent: false,
        ...(call.localAddress !== undefined && { localAddress: call.localAddress }),
        headers: {
          ...(authorization !== null && { authorization }),
          ...(body.length > 0 && { "content-type": "application/json", "content-length": body.length }),
          ...call.headers,
        },
      },
      (incoming) => {
        let text = "";
        incoming.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        incoming.on("error", reject);
        incoming.on("end", () => {
          const raw = incoming.rawHeaders;
          const headers = Object.fromEntries(
            raw.flatMap((name, index) => (index % 2 === 0 ? [[name, raw[index + 1] ?? ""]] : [])),
          );
          const isJson = headers["content-type"]?.startsWith("application/json") && text !== "";
          resolve({
            status: incoming.statusCode ?? 0,
            statusMessage: incoming.statusMessage ?? "",
            headers,
            text,
            body: isJson ? JSON.parse(text) : undefined,
          });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
