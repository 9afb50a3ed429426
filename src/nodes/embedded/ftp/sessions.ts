import type { Account } from "#nodes/embedded/accounts.ts";

/** The part of a session that is needed here. */
interface Session {
  readonly account: Account | undefined;
  readonly isOneTime: boolean;
  /** Ends it at once, including a running transfer. */
  cut(): void;
}

/** All open FTP sessions: counts those of an account against its cap, and cuts them. */
export class Sessions {
  readonly #open = new Set<Session>();

  /** Whether the account may have another session. One-time logins do not count: a busy account can be probed. */
  hasRoomForAccount(account: Account): boolean {
    let count = 0;
    for (const session of this.#open) if (session.account === account && !session.isOneTime) count += 1;
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
}
