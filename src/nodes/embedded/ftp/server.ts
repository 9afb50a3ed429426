import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { ConnectionLimits } from "#lib/net/connection-limits.ts";
import { type FtpServices, FtpSession } from "#nodes/embedded/ftp/session.ts";
import { connectionShares } from "#nodes/embedded/limits.ts";

export interface FtpServer {
  port: number;
  close(): Promise<void>;
}

/** Starts the FTP server: passive only, explicit TLS. @throws when the port is taken */
export async function startFtpServer(host: string, port: number, services: FtpServices): Promise<FtpServer> {
  const places = new ConnectionLimits(connectionShares(services.limits, "ftp"));
  const server = createServer((socket) => {
    socket.setNoDelay(true);
    const admission = places.add(socket);
    if (admission === "served") {
      new FtpSession(socket, services, () => places.opened(socket));
      return;
    }
    socket.on("error", () => socket.destroy());
    if (admission === "refused") {
      socket.end("421 Too many sessions, try again later.\r\n", () => socket.destroy());
    }
  });
  server.listen(port, host);
  await once(server, "listening");
  server.on("error", (error) => services.log.error({ err: error }, "FTP connection not accepted"));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      services.sessions.cutAll();
      await closed;
    },
  };
}
