/**
 * A node of ProFTPD and nginx: accounts are files on this machine, which the servers read at every login and every request.
 * No change needs a reload.
 *
 *     /srv/deedhouse/homes/<uid>/        owned by root; the account's FTP root
 *     /srv/deedhouse/homes/<uid>/www/    owned by the account; its site
 *     /srv/deedhouse/sites/<host name>   link to the home
 *     /srv/deedhouse/trash/<uid>/        files of a removed account
 *     /var/lib/deedhouse/accounts.sqlite the desired states
 *     /var/lib/deedhouse/ftp-users       the logins: written last for a new account
 *
 * Changes run one after the other. The desired state is recorded first, so a start finishes what a killed agent began.
 */
import { dayMs } from "#lib/clock.ts";
import { FolderBusy, lockFolder } from "#lib/folder-lock.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import type { AccountState, AgentNode, RefusedState } from "#nodes/agent-node.ts";
import {
  type AccountKey,
  type DesiredAccount,
  type NodeAccount,
  NodeRefused,
  NodeUnavailable,
  type OneTimeLogin,
  type UsageChanges,
} from "#nodes/driver.ts";
import { type ProbeOptions, probeAccount } from "#nodes/probe.ts";
import { every } from "#nodes/proftpd-nginx/every.ts";
import { makeFolders, openParts, type Parts, type ProftpdNodeOptions } from "#nodes/proftpd-nginx/parts.ts";
import type { ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";
import { findStrays, type Strays } from "#nodes/proftpd-nginx/strays.ts";

export interface ProftpdNode extends AgentNode {
  /** Homes and host names on the server that belong to no account. */
  strays(): Promise<Strays>;
}

/**
 * Opens the node on this machine, as root; only one process may do so per `stateFolder`. ProFTPD and nginx may be started
 * before or after it. First finishes what an earlier process began.
 * @throws when not root, while another agent runs, or when a record cannot be read
 */
export async function createProftpdNode(options: ProftpdNodeOptions): Promise<ProftpdNode> {
  if (process.getuid?.() !== 0) throw new Error("a node of ProFTPD and nginx must run as root");
  await makeFolders(options.settings);
  const lock = lockNode(options.settings);
  try {
    const parts = await openParts(options);
    await parts.accounts.restore();
    const node = new Node(parts, lock);
    node.start();
    return node;
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** A second agent would work with the records that it read when it started, and restore old passwords. */
function lockNode({ stateFolder }: ProftpdNodeSettings): Disposable {
  try {
    return lockFolder(stateFolder);
  } catch (error) {
    if (!(error instanceof FolderBusy)) throw error;
    throw new Error("another agent runs on this machine: stop it first", { cause: error });
  }
}

class Node implements ProftpdNode {
  readonly #parts: Parts;
  readonly #lock: Disposable;
  readonly #queue = createSerialQueue();
  readonly #timers: { close(): Promise<void> }[] = [];

  constructor(parts: Parts, lock: Disposable) {
    this.#parts = parts;
    this.#lock = lock;
  }

  /** Starts the periodic work. */
  start(): void {
    const { usage, traffic, trash, records, feed, settings, log } = this.#parts;
    const { logPollMs, sumsSaveMs, trashDaysMax } = settings.limits;
    for (const { uid } of records.list()) {
      usage.watch(uid);
      // The first question for usage returns every account.
      feed.changed(uid);
    }
    const look = async () => {
      await usage.look();
      await traffic.look();
    };
    const save = async () => {
      await usage.save();
      await traffic.save();
    };
    this.#timers.push(
      every(logPollMs, look, log),
      every(sumsSaveMs, save, log),
      every(dayMs, () => trash.purge(trashDaysMax), log),
    );
  }

  apply(states: readonly AccountState[]): Promise<RefusedState[]> {
    return this.#queue(() => this.#apply(states));
  }

  async ensureAccount(account: DesiredAccount): Promise<void> {
    await this.#applyOne({ kind: "account", account });
  }

  async remove({ identifier, uid }: AccountKey): Promise<void> {
    await this.#applyOne({ kind: "removed", account: { identifier, uid } });
  }

  async find(identifier: string): Promise<NodeAccount | undefined> {
    const account = this.#parts.records.find(identifier);
    return account && this.#describe(account);
  }

  async list(): Promise<NodeAccount[]> {
    return this.#parts.records.list().map((account) => this.#describe(account));
  }

  async highestUid(): Promise<number> {
    return this.#parts.records.highestUid;
  }

  async usageChanges({ after, waitMs, signal }: Parameters<AgentNode["usageChanges"]>[0]): Promise<UsageChanges> {
    const { feed, settings } = this.#parts;
    const changes = this.#usageAfter(after);
    if (changes.accounts.length > 0 || waitMs === 0) return changes;
    const never = new AbortController().signal;
    await feed.nextChange(Math.min(waitMs, settings.limits.usageWaitMsMax), signal ?? never);
    return this.#usageAfter(after);
  }

  async probe(key: AccountKey): Promise<void> {
    const { accounts, oneTimeLogins, settings } = this.#parts;
    const { uid, identifier, suspended, ftpEnabled } = accounts.get(key);
    if (suspended) throw new NodeRefused("suspended");
    const run = (login: ProbeOptions["login"]) =>
      probeAccount({ ...this.#parts, siteDomain: settings.siteDomain, identifier, login });
    await (ftpEnabled ? oneTimeLogins.lend(uid, run) : run(null));
  }

  async oneTimeLogin(key: AccountKey): Promise<OneTimeLogin> {
    const { accounts, oneTimeLogins, ftp } = this.#parts;
    return { ...ftp, ...(await oneTimeLogins.create(accounts.get(key).uid)) };
  }

  strays(): Promise<Strays> {
    return this.#queue(async () => findStrays({ ...this.#parts, siteDomain: this.#parts.settings.siteDomain }));
  }

  async close(): Promise<void> {
    const { usage, traffic, records, limits, oneTimeLogins } = this.#parts;
    await Promise.all(this.#timers.map((timer) => timer.close()));
    await this.#queue(async () => {
      await oneTimeLogins.close();
      await usage.close();
      await traffic.save();
      await records.close();
      limits.close();
      this.#lock[Symbol.dispose]();
    });
  }

  /** @throws NodeRefused */
  async #applyOne(state: AccountState): Promise<void> {
    const [refused] = await this.apply([state]);
    if (refused !== undefined) throw new NodeRefused(refused.reason);
  }

  async #apply(states: readonly AccountState[]): Promise<RefusedState[]> {
    const { accounts, records, usage, traffic, feed } = this.#parts;
    try {
      const refused = await accounts.apply(states);
      for (const { account } of states) {
        if (records.get(account.uid) !== undefined) usage.watch(account.uid);
        else if (records.isRemoved(account.uid)) for (const part of [usage, traffic, feed]) part.forget(account.uid);
      }
      return refused;
    } catch (error) {
      if (error instanceof NodeUnavailable) throw error;
      throw new NodeUnavailable(`the outcome of the change is unknown: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #usageAfter(version: number): UsageChanges {
    const { feed, records, usage, traffic } = this.#parts;
    const accounts = feed.changedAfter(version).flatMap((uid) => {
      const account = records.get(uid);
      if (account === undefined) return [];
      const sent = traffic.get(uid);
      return [{ identifier: account.identifier, uid, ...usage.get(uid), ...(sent && { traffic: sent }) }];
    });
    return { version: feed.version, accounts };
  }

  #describe({ passwordHash: _, ...account }: DesiredAccount): NodeAccount {
    return { ...account, usage: this.#parts.usage.get(account.uid) };
  }
}
