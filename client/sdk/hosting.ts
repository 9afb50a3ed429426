import { UnsuccessfulError } from "./errors.ts";
import type { Items } from "./items.ts";
import { type Api, pathOf, Resource } from "./resource.ts";
import { answerOf, idFromLocation } from "./response.ts";
import type {
  Answer,
  CallOptions,
  HeldOptions,
  HostingAccount,
  HostingHistory,
  HostName,
  NewHostingAccount,
  PlacedAccount,
  ServicePack,
  SuspendOptions,
  WaitOptions,
  WriteOptions,
} from "./types.ts";
import { waitUntilFinal } from "./wait.ts";

/** Hosting accounts. Changes are answered at once, and in effect within seconds. */
export class Hosting extends Resource {
  readonly hostNames: HostNames;
  readonly packs: Packs;

  constructor(api: Api) {
    super(api);
    this.hostNames = new HostNames(api);
    this.packs = new Packs(api);
  }

  /** Every account except failed ones. */
  list({ signal }: CallOptions = {}): Items<HostingAccount> {
    return this.items({ path: "/hostingaccounts", signal });
  }

  get(identifier: string, options?: HeldOptions): Promise<Answer<HostingAccount>> {
    return this.read(accountPath(identifier), options);
  }

  /** Orders an account; `data.identifier` is its canonical name. */
  async create(account: NewHostingAccount, options?: WriteOptions): Promise<PlacedAccount> {
    const { identifier, servicePackId, password } = account;
    const body = { servicepack_id: servicePackId, identifier, password };
    const reply = await this.api.send({ method: "POST", path: "/hostingaccounts", body, ...options });
    return answerOf(reply, { identifier: idFromLocation(reply) });
  }

  /**
   * Waits until an account is provisioned. Rejects with `UnsuccessfulError` when it ends as `Failed`, and with `WaitTimeoutError` when
   * the time runs out. @param account what `create` answered, or the identifier
   */
  async provisioned(
    account: PlacedAccount | string,
    options?: WaitOptions<HostingAccount>,
  ): Promise<Answer<HostingAccount>> {
    const ended = await this.wait(account, options);
    if (ended.data.status === "Failed") throw new UnsuccessfulError(`the account ${ended.data.identifier}`, ended.data);
    return ended;
  }

  /** Resolves when an account is no longer `Provisioning`, success or failure: check `data.status`. */
  wait(account: PlacedAccount | string, options: WaitOptions<HostingAccount> = {}): Promise<Answer<HostingAccount>> {
    const isIdentifier = typeof account === "string";
    const identifier = isIdentifier ? account : account.data.identifier;
    return waitUntilFinal(
      (waitSeconds) => this.get(identifier, { waitSeconds, signal: options.signal }),
      ({ status }) => status,
      ({ status }) => status !== "Provisioning",
      { checkAfterSeconds: isIdentifier ? undefined : account.checkAfterSeconds, ...options },
      this.api.clock,
    );
  }

  /** The newest 200 events of an account, and its next step. */
  getHistory(identifier: string, options?: CallOptions): Promise<Answer<HostingHistory>> {
    return this.read(accountPath(identifier, "history"), options);
  }

  /** Changes the FTP password. Within seconds the new one works and the old one does not. */
  setPassword(identifier: string, password: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("PUT", accountPath(identifier, "password"), options, { password });
  }

  /**
   * Suspends an account: nobody can log in and the site answers 503. Nothing is deleted. `suspensions` of the account says who has
   * suspended it, and `changes_pending` is false once it is in effect.
   */
  suspend(identifier: string, { reason, ...options }: SuspendOptions = {}): Promise<Answer<undefined>> {
    return this.write("PUT", accountPath(identifier, "suspension"), options, { suspended: true, reason });
  }

  /**
   * Lifts your suspension of an account. It stays suspended while the operator's holds; if only that is left, the call rejects with
   * `hostingaccount_suspended_by_operator`.
   */
  unsuspend(identifier: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("PUT", accountPath(identifier, "suspension"), options, { suspended: false });
  }

  /** Requests the deletion of an account with its site. The account exists until it is deleted. */
  delete(identifier: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("DELETE", accountPath(identifier), options);
  }
}

/** Host names of an account's site, in addition to the platform's own. */
class HostNames extends Resource {
  list(identifier: string, { signal }: CallOptions = {}): Items<HostName> {
    return this.items({ path: accountPath(identifier, "hosts"), isWhole: true, signal });
  }

  /** With the record to set, and its status. */
  get(identifier: string, hostName: string, options?: CallOptions): Promise<Answer<HostName>> {
    return this.read(accountPath(identifier, "hosts", hostName), options);
  }

  /** Adds a host name, or checks it again at once; `get` returns the record to set. */
  add(identifier: string, hostName: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("PUT", accountPath(identifier, "hosts", hostName), options);
  }

  /** The site stops answering there within seconds. */
  remove(identifier: string, hostName: string, options?: WriteOptions): Promise<Answer<undefined>> {
    return this.write("DELETE", accountPath(identifier, "hosts", hostName), options);
  }
}

/** Service packs. */
class Packs extends Resource {
  /** Those that are offered to you. */
  list({ signal }: CallOptions = {}): Items<ServicePack> {
    return this.items({ path: "/servicepacks", isWhole: true, signal });
  }
}

const accountPath = (identifier: string, ...parts: string[]) => pathOf("hostingaccounts", identifier, ...parts);
