/** Sends bytes that no HTTP client would send, and reads the answer until the connection ends. */
import { connect, type Socket } from "node:net";
import type { Reply } from "./signed-request.ts";

/** @param parts written one after the other; the client does not end the connection */
export function sendRaw(url: string, ...parts: (string | Buffer)[]): Promise<Reply> {
  const { hostname, port } = new URL(url);
  return exchange(connect(Number(port), hostname), ...parts);
}

/** The same over an existing connection. */
export function exchange(socket: Socket, ...parts: (string | Buffer)[]): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    for (const part of parts) socket.write(part);
    // A server that has refused resets the connection; its answer may have arrived before.
    socket.on("error", (error) => chunks.length === 0 && reject(error));
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.on("close", () => resolve(parseReply(Buffer.concat(chunks).toString("latin1"))));
  });
}

function parseReply(received: string): Reply {
  const [head = "", text = ""] = received.split(/\r\n\r\n(.*)/s);
  const [statusLine = "", ...lines] = head.split("\r\n");
  const [, status = "0", statusMessage = ""] = /^HTTP\/1\.1 ([0-9]{3}) ?(.*)$/.exec(statusLine) ?? [];
  const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s) as [string, string]));
  const isJson = headers["content-type"]?.startsWith("application/json") && text !== "";
  return { status: Number(status), statusMessage, headers, text, body: isJson ? JSON.parse(text) : undefined };
}
