/** Tells name servers of changes, but not more often than they should hear it. */
import type { Context } from "#context.ts";
import { sendNotify } from "#dns/client.ts";
import { knownServer, type ServerWithKeys } from "#zones/servers/rows.ts";

/** Changes in between travel together. */
const repeatMs = 1_000;
const rememberedMax = 10_000;

export class Notifier {
  /** When each server was told of each zone, the oldest first. */
  readonly #toldMs = new Map<string, number>();
  readonly #context: Pick<Context, "clock" | "random">;

  constructor(context: Pick<Context, "clock" | "random">) {
    this.#context = context;
  }

  async tell(servers: readonly ServerWithKeys[], zone: string): Promise<void> {
    const nowMs = this.#context.clock.monotonicMs();
    const due = servers.filter(({ id }) => nowMs - (this.#toldMs.get(`${id} ${zone}`) ?? -repeatMs) >= repeatMs);
    for (const { id } of due) {
      this.#toldMs.delete(`${id} ${zone}`);
      this.#toldMs.set(`${id} ${zone}`, nowMs);
    }
    for (const [key, atMs] of this.#toldMs) {
      if (this.#toldMs.size <= rememberedMax && nowMs - atMs < repeatMs) break;
      this.#toldMs.delete(key);
    }
    await Promise.all(due.map((server) => sendNotify(this.#context, knownServer(server), zone)));
  }
}
