/** Requests as proxies send them: from a proxy's address, with bytes before the request, over TLS or plain. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { parseTrustedProxies } from "#lib/net/trusted-proxies.ts";
import type { TestGateway, TestReseller } from "./gateway.ts";
import { exchange } from "./raw-http.ts";
import { authorize, type Reply } from "./signed-request.ts";

/** All of 127.0.0.0/8 is this machine: these addresses are proxies, the rest are strangers. */
export const proxy = "127.0.0.1";
export const secondProxy = "127.0.1.1";
export const stranger = "127.0.0.2";
export const trusted = parseTrustedProxies([proxy, "127.0.1.0/24", "::1"]);

export interface ProxiedCall {
  gateway: TestGateway;
  /** Signs the request; without it, the request is not signed. */
  as?: TestReseller;
  /** The source address of the connection. */
  from?: string;
  /** Raw header lines. */
  lines?: string[];
  /** Bytes before everything else, including TLS. */
  before?: string | Buffer;
  tls?: boolean;
}

const method = "GET";
const target = "/domains";

export async function call({ gateway, as, from = proxy, lines = [], before, tls }: ProxiedCall): Promise<Reply> {
  const socket = await open(gateway.url, from, before, tls);
  const authorization = as ? authorize({ key: as.key, clock: gateway.context.clock, method, target }) : "none";
  const head = [`${method} ${target} HTTP/1.1`, "host: x", "connection: close", `authorization: ${authorization}`];
  return exchange(socket, `${[...head, ...lines].join("\r\n")}\r\n\r\n`);
}

export async function open(url: string, from: string, before?: string | Buffer, tls = false): Promise<Socket> {
  const { port } = new URL(url);
  const raw = connect({ host: "127.0.0.1", port: Number(port), localAddress: from });
  raw.on("error", () => {});
  await once(raw, "connect");
  if (before !== undefined) raw.write(before);
  if (!tls) return raw;
  const secure = connectTls({ socket: raw, rejectUnauthorized: false });
  await once(secure, "secureConnect");
  return secure;
}

export const firstVersion = (client: string, destination = "192.0.2.1") =>
  `PROXY TCP${client.includes(":") ? 6 : 4} ${client} ${destination} 4711 443\r\n`;

/** @param command 1 for a client, 0 for the proxy itself */
export function secondVersion(client: string, command = 1): Buffer {
  const start = Buffer.from("\r\n\r\n\0\r\nQUIT\n");
  const source = Buffer.from(client.split(".").map(Number));
  const addresses = Buffer.concat([source, Buffer.from([192, 0, 2, 1, 0x12, 0x67, 1, 187])]);
  // With a unique id of the connection after the addresses (section 2.2.5).
  const more = Buffer.from([5, 0, 2, 0xab, 0xcd]);
  return Buffer.concat([
    start,
    Buffer.from([0x20 | command, 0x11, 0, addresses.length + more.length]),
    addresses,
    more,
  ]);
}
