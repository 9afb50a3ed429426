import type { Socket } from "node:net";
import { createLane, type Lane } from "#lib/lane.ts";

/**
 * Lets the requests of a connection take turns: each waits until the answer before it has been sent. Without that,
 * a client that pipelines requests and reads nothing makes the server open a file for each.
 */
export class Turns {
  readonly #waitingMax: number;
  readonly #lanes = new WeakMap<Socket, { run: Lane; waiting: number }>();

  /** @param waitingMax requests that may wait on one connection; with more it is closed */
  constructor(waitingMax: number) {
    this.#waitingMax = waitingMax;
  }

  /** Runs `answer` in its turn, unless the connection is gone by then. */
  async take(socket: Socket, answer: () => Promise<void>): Promise<void> {
    const lane = this.#lanes.get(socket) ?? { run: createLane(), waiting: 0 };
    this.#lanes.set(socket, lane);
    lane.waiting += 1;
    if (lane.waiting > this.#waitingMax) socket.destroy();
    await lane.run(async () => {
      lane.waiting -= 1;
      if (!socket.destroyed) await answer();
    });
  }
}
