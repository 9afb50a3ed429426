/**
 * Sends requests to the gateway over TLS, or over loopback, because answers contain password hashes. With a pin, only the
 * pinned key is trusted, whatever certificate authorities say.
 */
import { createHash, type X509Certificate } from "node:crypto";
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { readAnswerBody } from "#nodes/answer-body.ts";

export interface GatewayAddress {
  url: string;
  /** See JoinToken. */
  pin: string | null;
}

export interface GatewayRequest {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
  /** The largest body that is read. */
  answerBytesMax: number;
  signal: AbortSignal;
}

export interface GatewayAnswer {
  status: number;
  headers: IncomingMessage["headers"];
  body: Buffer;
}

export interface Transport {
  /** POSTs. @throws Error when the answer is missing or incomplete */
  send(request: GatewayRequest): Promise<GatewayAnswer>;
  close(): void;
}

/** @throws Error when the URL is invalid, or would send secrets unencrypted */
export function createTransport({ url, pin }: GatewayAddress): Transport {
  const base = parseGatewayUrl(url);
  const isTls = base.protocol === "https:";
  const settings = { keepAlive: true };
  const agent = !isTls
    ? new HttpAgent(settings)
    : pin === null
      ? new HttpsAgent({ ...settings, minVersion: "TLSv1.2" })
      : new PinnedAgent(pin);
  return {
    send: ({ path, headers, body, answerBytesMax, signal }) =>
      new Promise((resolve, reject) => {
        const options = { method: "POST", agent, signal, headers: { ...headers, "content-length": body.length } };
        const question = (isTls ? httpsRequest : httpRequest)(new URL(path, base), options, (response) => {
          readAnswer(response, answerBytesMax).then(resolve, reject);
        });
        question.on("error", reject);
        question.end(body);
      }),
    close: () => agent.destroy(),
  };
}

/** @throws Error that says what to do */
function parseGatewayUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol === "https:") return parsed;
  if (parsed?.protocol === "http:" && isLoopback(parsed.hostname)) return parsed;
  throw new Error(`The gateway's address must begin with https:// (http:// on loopback only), not "${url}".`);
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || (isIP(hostname) === 4 && hostname.startsWith("127."));
}

async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<GatewayAnswer> {
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: await readAnswerBody(response, bytesMax),
  };
}

/** SHA-256 of the public key in a certificate, base64url. A certificate that is renewed with the same key keeps it. */
export function pinOf(certificate: X509Certificate): string {
  const key = certificate.publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(key).digest("base64url");
}

/** Verifies the pinned key before a connection is used: no byte of a request is sent before. */
class PinnedAgent extends HttpsAgent {
  readonly #pin: string;

  constructor(pin: string) {
    super({ keepAlive: true });
    this.#pin = pin;
  }

  override createConnection(
    options: ConnectionOptions,
    made: (error: Error | null, socket: Duplex) => void,
  ): TLSSocket | undefined {
    // The pin replaces the checks of names and authorities. Without session resumption, the certificate is always presented.
    const socket = connect({ ...options, rejectUnauthorized: false, minVersion: "TLSv1.2" });
    const fail = (error: Error) => made(error, socket);
    socket.once("error", fail);
    socket.once("secureConnect", () => {
      socket.off("error", fail);
      const shown = socket.getPeerX509Certificate();
      if (shown !== undefined && pinOf(shown) === this.#pin) return made(null, socket);
      socket.destroy();
      made(new Error("the gateway shows another key than the one in the node's token: is it another server?"), socket);
    });
    return undefined;
  }
}
