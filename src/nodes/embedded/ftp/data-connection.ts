/**
 * The data connection: a port that is open for one client, one connection and a short time.
 *
 * Only the address of the control connection may connect; others are dropped without a byte (RFC 2577 §3).
 */
import { createServer, type Server, type Socket } from "node:net";
import { plainAddress } from "#lib/net/plain-address.ts";
import type { Random } from "#lib/random.ts";
import { FtpFailure } from "#nodes/embedded/ftp/reply.ts";

/** Inclusive; undefined lets the system choose. */
export type PassivePorts = { from: number; to: number } | undefined;

export interface DataPortOptions {
  /** The local address of the control connection. */
  host: string;
  /** The client's address. */
  address: string;
  ports: PassivePorts;
  random: Random;
  connectMs: number;
}

export class DataPort {
  readonly #server: Server;
  readonly #timer: NodeJS.Timeout;
  readonly #connected = Promise.withResolvers<Socket>();
  #socket: Socket | undefined;

  private constructor(server: Server, options: DataPortOptions) {
    this.#server = server;
    this.#connected.promise.catch(() => {});
    this.#timer = setTimeout(() => this.close(), options.connectMs);
    server.on("connection", (socket) => this.#accept(socket, options.address));
  }

  /** @throws FtpFailure 425 when every port of the range is in use */
  static async open(options: DataPortOptions): Promise<DataPort> {
    for (const port of candidates(options)) {
      // Paused: early data must wait for the command, and for TLS. Half-open: we end the connection when the file is in
      // place. Otherwise Node would end it in the same turn as the client, and lose the close_notify of TLS if session
      // tickets are still being sent; Python's ftplib takes that for a failed upload.
      const server = createServer({ pauseOnConnect: true, allowHalfOpen: true });
      const isListening = await new Promise<boolean>((resolve) => {
        // Stays for the server's whole life: a failed accept must not end the process.
        server.on("error", () => resolve(false));
        server.listen(port, options.host, 1, () => resolve(true));
      });
      if (isListening) return new DataPort(server, options);
    }
    throw new FtpFailure(425, "No port is free, try again later.");
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new FtpFailure(425, "No data connection.");
    return address.port;
  }

  /** The client's connection, still paused. @throws FtpFailure 425 when the client does not connect in time */
  connection(): Promise<Socket> {
    return this.#connected.promise;
  }

  /** Closes the port and its connection. */
  close(): void {
    clearTimeout(this.#timer);
    this.#server.close();
    this.#socket?.destroy();
    this.#connected.reject(new FtpFailure(425, "No data connection."));
  }

  #accept(socket: Socket, address: string): void {
    socket.on("error", () => socket.destroy());
    if (this.#socket !== undefined || plainAddress(socket.remoteAddress) !== address) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    clearTimeout(this.#timer);
    this.#server.close();
    this.#connected.resolve(socket);
  }
}

/** The ports to try: the whole range, from a random one on, so that the next port cannot be guessed. */
function* candidates({ ports, random }: DataPortOptions): Generator<number> {
  if (ports === undefined) return yield 0;
  const count = ports.to - ports.from + 1;
  const first = random.below(count);
  for (let step = 0; step < count; step += 1) yield ports.from + ((first + step) % count);
}
