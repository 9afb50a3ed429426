/** Polls the list of accounts: a panel does not report changes of usage. */
import { type Clock, sleep } from "#lib/clock.ts";
import type { PanelAccount } from "#nodes/cpanel/accounts.ts";
import { NodeUnavailable, type UsageChanges } from "#nodes/driver.ts";

interface Known {
  bytes: number;
  files: number;
  version: number;
}

export class UsagePoll {
  readonly #known = new Map<number, Known & { identifier: string }>();
  readonly #list: () => Promise<PanelAccount[]>;
  readonly #clock: Clock;
  readonly #pollMs: number;
  /** Versions of earlier processes are lower than this one. */
  readonly #first: number;
  #version: number;
  #readAtMs = Number.NEGATIVE_INFINITY;

  constructor(list: () => Promise<PanelAccount[]>, clock: Clock, pollMs: number) {
    this.#list = list;
    this.#clock = clock;
    this.#pollMs = pollMs;
    this.#first = clock.now().getTime();
    this.#version = this.#first;
  }

  /** As HostingNode.usageChanges. @throws NodeUnavailable */
  async changes(after: number, waitMs: number, signal?: AbortSignal): Promise<UsageChanges> {
    const untilMs = this.#clock.monotonicMs() + waitMs;
    const isKnown = after >= this.#first && after <= this.#version;
    let isRemembered = true;
    const read = async () => {
      await this.#read();
      isRemembered = false;
    };
    if (!isKnown) await read();
    for (;;) {
      if (signal?.aborted) throw new NodeUnavailable("the wait for usage was cancelled");
      if (this.#clock.monotonicMs() >= this.#readAtMs + this.#pollMs) await read();
      const accounts = this.#since(isKnown ? after : 0);
      const nowMs = this.#clock.monotonicMs();
      if (accounts.length > 0 || nowMs >= untilMs) return { version: this.#version, accounts, isRemembered };
      await sleep(Math.min(untilMs, this.#readAtMs + this.#pollMs) - nowMs, signal);
    }
  }

  #since(after: number): UsageChanges["accounts"] {
    return [...this.#known]
      .filter(([, { version }]) => version > after)
      .map(([uid, { identifier, bytes, files }]) => ({ identifier, uid, bytes, files }));
  }

  async #read(): Promise<void> {
    const accounts = await this.#list();
    this.#readAtMs = this.#clock.monotonicMs();
    const there = new Set(accounts.map(({ uid }) => uid));
    for (const uid of this.#known.keys()) if (!there.has(uid)) this.#known.delete(uid);
    for (const { identifier, uid, bytesUsed: bytes, filesUsed: files } of accounts) {
      const known = this.#known.get(uid);
      if (known?.bytes === bytes && known.files === files) continue;
      this.#version += 1;
      this.#known.set(uid, { identifier, bytes, files, version: this.#version });
    }
  }
}
