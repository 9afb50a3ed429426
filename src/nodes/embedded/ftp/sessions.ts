import type { Account } from "../accounts.ts";
import type { EmbeddedNodeLimits } from "../limits.ts";

/** What the registry needs to know of a session. */
interface Session {
  readonly address: string;
  readonly account: Account | undefined;
  readonly isOneTime: boolean;
  /** Ends it at once, with whatever it is doing. */
  cut(): void;
}

/** All open FTP sessions: counts them against the caps, and cuts those of an account. */
export class Sessions {
  readonly #limits: EmbeddedNodeLimits;
  readonly #open = new Set<Session>();

  constructor(limits: EmbeddedNodeLimits) {
    this.#limits = limits;
  }

  hasRoomFor(address: string): boolean {
    if (this.#open.size >= this.#limits.sessionsMax) return false;
    return this.#count((session) => session.address === address) < this.#limits.addressSessionsMax;
  }

  /** Whether the account may have one more session. The probe's do not count: a busy account can be probed. */
  hasRoomForAccount(account: Account): boolean {
    const count = this.#count((session) => session.account === account && !session.isOneTime);
    return count < account.record.sessionsMax;
  }

  add(session: Session): void {
    this.#open.add(session);
  }

  delete(session: Session): void {
    this.#open.delete(session);
  }

  cut(account: Account): void {
    for (const session of this.#open) if (session.account === account) session.cut();
  }

  cutAll(): void {
    for (const session of this.#open) session.cut();
  }

  #count(matches: (session: Session) => boolean): number {
    let count = 0;
    for (const session of this.#open) if (matches(session)) count += 1;
    return count;
  }
}
