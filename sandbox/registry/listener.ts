import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { ServerCertificate } from "./certificates.ts";
import type { Registry } from "./registry.ts";
import { Session } from "./session.ts";

/** The start of a TLS record with a ServerHello that never follows (RFC 8446 §5.1). */
const brokenHandshake = Buffer.from([22, 3, 3, 0, 122, 2]);

export interface Listener {
  port: number;
  /** Drops every connection. */
  dropAll(): void;
  /** Resets every connection, present and future, until resume(). */
  pause(): void;
  resume(): void;
  /** Resolves when the current sessions have ended. */
  idle(): Promise<void>;
  /** Drops every connection, and resolves when all sessions have ended. */
  close(): Promise<void>;
}

/**
 * Accepts EPP connections, with a client certificate if a CA is given. It accepts TCP before TLS, so that a paused registry
 * resets a connection before the first byte.
 */
export async function startListener(
  registry: Registry,
  { cert, key, clientCaFile }: ServerCertificate & { clientCaFile: string | undefined },
  host: string,
  port: number,
): Promise<Listener> {
  const sockets = new Set<Socket>();
  const runs = new Set<Promise<void>>();
  let isPaused = false;
  const clients = clientCaFile === undefined ? {} : { ca: await readFile(clientCaFile), requestCert: true };
  const tls = createTlsServer({ cert, key, minVersion: "TLSv1.2", ...clients }, (socket) => {
    // Not caught, so that a defect of the registry ends the process.
    const run = new Session(socket, registry).run().finally(() => runs.delete(run));
    runs.add(run);
  });
  tls.on("tlsClientError", (_error, socket) => socket.destroy());
  const tcp = createTcpServer((socket) => {
    const fate = isPaused ? "reset" : registry.faults.takeConnectFate("tcp", registry.now());
    if (fate === "reset") return socket.resetAndDestroy();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    if (fate === undefined) tls.emit("connection", socket);
    else if (fate === "hang-tls") socket.once("data", () => socket.write(brokenHandshake));
  });
  const dropAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  const idle = async () => {
    await Promise.allSettled(runs);
  };
  await listening(tcp, port, host);
  return {
    port: (tcp.address() as AddressInfo).port,
    dropAll,
    pause: () => {
      isPaused = true;
      dropAll();
    },
    resume: () => {
      isPaused = false;
    },
    idle,
    close: async () => {
      const closed = new Promise((resolve) => tcp.close(resolve));
      dropAll();
      await closed;
      await idle();
    },
  };
}

/** Resolves when the server listens. @throws Error, e.g. EADDRINUSE */
export function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
