import { Agent, type IncomingHttpHeaders, request } from "node:http";
import { text } from "node:stream/consumers";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { authorizationHeader, newNonce } from "../client/sdk/sign.ts";

export interface Credentials {
  url: string;
  key: string;
  secret: string;
}

export interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: unknown;
  /** When the answer's head had arrived. */
  receivedMs: number;
}

/** Sends one signed request at a time on a kept connection, with as little work as possible. */
export interface SignedClient {
  send(method: string, target: string, options?: { body?: unknown; waitSeconds?: number }): Promise<Reply>;
  close(): void;
}

export function createSignedClient({ url, key, secret }: Credentials): SignedClient {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port } = new URL(url);
  return {
    async send(method, target, { body, waitSeconds } = {}) {
      const bytes = Buffer.from(body === undefined ? "" : JSON.stringify(body));
      const authorization = signTarget({ key, secret, method, target, body: bytes });
      const { promise, resolve, reject } = Promise.withResolvers<Reply>();
      const outgoing = request(
        {
          agent,
          hostname,
          port,
          method,
          path: target,
          headers: {
            authorization,
            ...(bytes.length > 0 && { "content-type": "application/json", "content-length": bytes.length }),
            ...(waitSeconds !== undefined && { prefer: `wait=${waitSeconds}` }),
          },
        },
        (incoming) => {
          const receivedMs = systemClock.monotonicMs();
          const { statusCode: status = 0, headers } = incoming;
          text(incoming).then(
            (json) => resolve({ status, headers, body: json === "" ? undefined : JSON.parse(json), receivedMs }),
            reject,
          );
        },
      );
      outgoing.on("error", reject);
      outgoing.end(bytes);
      return promise;
    },
    close: () => agent.destroy(),
  };
}

/** The Authorization header of a request that is sent now. */
export function signTarget(signed: {
  key: string;
  secret: string;
  method: string;
  target: string;
  body: Buffer;
}): string {
  const { key, secret, method, target, body } = signed;
  const timestampSeconds = unixSeconds(systemClock);
  return authorizationHeader({
    apiKey: key,
    apiSecret: secret,
    method,
    target,
    body,
    nonce: newNonce(),
    timestampSeconds,
  });
}
