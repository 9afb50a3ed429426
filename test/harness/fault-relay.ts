/** A network between a client and a server of HTTP that loses requests and answers, and records what it carried. */
import type { Socket } from "node:net";
import { startTcpRelay } from "./tcp-relay.ts";

/**
 * What happens to the next request: nothing special, it never arrives, its answer is lost, only the answer's first `bytes` arrive (a negative
 * number counts from its end), or the relay answers itself.
 */
export type NetworkFault = "none" | "request lost" | "answer lost" | { bytes: number } | { answer: string };

export interface CarriedRequest {
  method: string;
  target: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
  fault: NetworkFault | undefined;
}

export interface FaultRelay {
  readonly port: number;
  /** Used from front to back, one for each request. */
  faults: NetworkFault[];
  /** Every request that a client has sent completely, in order. */
  carried: CarriedRequest[];
  /** Resets all connections; new ones are accepted. */
  reset(): void;
  close(): Promise<void>;
}

/** @param port a port of 127.0.0.1. Clients may keep connections, but must not send a request before the last one's answer. */
export async function startFaultRelay(port: number): Promise<FaultRelay> {
  const faults: NetworkFault[] = [];
  const carried: CarriedRequest[] = [];
  const relay = await startTcpRelay({
    target: () => ({ host: "127.0.0.1", port }),
    carry(client, upstream) {
      let received = Buffer.alloc(0);
      let fault: NetworkFault | undefined;
      client.on("data", (chunk) => {
        received = Buffer.concat([received, chunk]);
        const request = completeRequest(received);
        if (!request) return;
        fault = faults.shift();
        carried.push({ ...request, fault });
        if (fault === "request lost") client.resetAndDestroy();
        else if (typeof fault === "object" && "answer" in fault) client.end(fault.answer);
        else upstream.write(received);
        received = Buffer.alloc(0);
      });
      upstream.on("data", (chunk) => deliver(chunk, client, fault));
    },
  });
  const reset = () => {
    relay.cut();
    relay.join();
  };
  return { port: relay.port, faults, carried, reset, close: relay.close };
}

function deliver(chunk: Buffer, client: Socket, fault: NetworkFault | undefined): void {
  if (fault === "answer lost") client.resetAndDestroy();
  else if (typeof fault === "object" && "bytes" in fault) client.end(chunk.subarray(0, fault.bytes));
  else client.write(chunk);
}

/** An answer of the relay itself; the connection ends with it. */
export function relayAnswer(status: number, headers: Record<string, string>): NetworkFault {
  const lines = Object.entries({ ...headers, "content-length": "0", connection: "close" });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return { answer: `HTTP/1.1 ${status} Relay\r\n${head}\r\n` };
}

/** The request, once all of it is there. */
function completeRequest(bytes: Buffer): Omit<CarriedRequest, "fault"> | undefined {
  const headBytes = bytes.indexOf("\r\n\r\n");
  if (headBytes < 0) return undefined;
  const [first = "", ...lines] = bytes.toString("latin1", 0, headBytes).split("\r\n");
  const [method = "", target = ""] = first.split(" ");
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const body = bytes.subarray(headBytes + "\r\n\r\n".length);
  if (body.length < Number(headers["content-length"] ?? 0)) return undefined;
  return { method, target, headers, body: body.toString("utf8") };
}
