import type { Socket } from "node:net";

/** Counts the open connections of each client address, and closes what is one too many at once. */
export class AddressConnections {
  readonly #addressMax: number;
  readonly #open = new Map<string, number>();

  constructor(addressMax: number) {
    this.#addressMax = addressMax;
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? "";
    const open = (this.#open.get(address) ?? 0) + 1;
    if (open > this.#addressMax) {
      socket.destroy();
      return;
    }
    this.#open.set(address, open);
    socket.once("close", () => this.#remove(address));
  }

  #remove(address: string): void {
    const left = (this.#open.get(address) ?? 1) - 1;
    if (left > 0) this.#open.set(address, left);
    else this.#open.delete(address);
  }
}
