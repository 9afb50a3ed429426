import type { Clock } from "./clock.ts";
import { UnsuccessfulError } from "./errors.ts";
import { followPages, pageOf, pageQuery } from "./paging.ts";
import { answerOf, arrayBody, idFromLocation, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type {
  Answer,
  CallOptions,
  HeldOptions,
  HostingAccount,
  HostingHistory,
  Page,
  PageOptions,
  PlacedAccount,
  ServicePack,
  WaitOptions,
  WriteOptions,
} from "./types.ts";
import { waitUntilFinal } from "./wait.ts";

/** The data of a new hosting account. */
export interface NewHostingAccount {
  /** The account's host name. */
  identifier: string;
  /** An `id` from `listServicePacks`. */
  servicePackId: string;
  /** For FTP, 8 to 64 characters; the service keeps only a hash. */
  password: string;
}

export interface SuspendOptions extends WriteOptions {
  /** Why, in one line of up to 200 characters: you and the operator read it. */
  reason?: string | undefined;
}

/** The calls for hosting accounts and service packs. */
export interface HostingCalls {
  /** One page; by default the first 25 items. */
  listHostingAccounts(options?: PageOptions): Promise<Page<HostingAccount>>;
  /** Every account except failed ones. */
  allHostingAccounts(options?: CallOptions): AsyncGenerator<HostingAccount>;
  getHostingAccount(identifier: string, options?: HeldOptions): Promise<Answer<HostingAccount>>;
  /** Orders an account; `data.identifier` is its canonical name. */
  createHostingAccount(account: NewHostingAccount, options?: WriteOptions): Promise<PlacedAccount>;
  /**
   * Waits until the account that `createHostingAccount` has ordered is `Ready`. Rejects with `UnsuccessfulError` when it ends in
   * another way, and with `WaitTimeoutError` when the time runs out. @param account what the call answered, or the identifier
   */
  provisioned(account: PlacedAccount | string, options?: WaitOptions<HostingAccount>): Promise<Answer<HostingAccount>>;
  /** Resolves when the account is no longer `Provisioning`, success or failure: check `data.status`. */
  waitForHostingAccount(identifier: string, options?: WaitOptions<HostingAccount>): Promise<Answer<HostingAccount>>;
  /** Changes the FTP password. Within seconds the new one works and the old one does not. */
  setHostingPassword(identifier: string, password: string, options?: WriteOptions): Promise<Answer<undefined>>;
  /**
   * Suspends an account: within seconds nobody can log in and the site answers 503. Nothing is deleted. `suspensions` of the account
   * says who has suspended it, and `changes_pending` is false once it is in effect.
   */
  suspendHostingAccount(identifier: string, options?: SuspendOptions): Promise<Answer<undefined>>;
  /**
   * Lifts your suspension of an account. It stays suspended while the operator's holds; if only that is left, the call rejects with
   * `hostingaccount_suspended_by_operator`.
   */
  unsuspendHostingAccount(identifier: string, options?: WriteOptions): Promise<Answer<undefined>>;
  /** Requests the deletion of an account with its site. The account exists until it is deleted. */
  deleteHostingAccount(identifier: string, options?: WriteOptions): Promise<Answer<undefined>>;
  getHostingHistory(identifier: string, options?: CallOptions): Promise<Answer<HostingHistory>>;
  listServicePacks(options?: CallOptions): Promise<Answer<ServicePack[]>>;
}

const pathOf = (identifier: string) => `/hostingaccounts/${encodeURIComponent(identifier)}`;

export function hostingCalls(send: Send, clock: Clock): HostingCalls {
  const getPage = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<HostingAccount>(await send({ method: "GET", path: "/hostingaccounts", query, signal }));

  const calls: HostingCalls = {
    ...hostingChanges(send),

    listHostingAccounts: (options = {}) => getPage(pageQuery(options), options.signal),

    allHostingAccounts: (options = {}) => followPages(getPage, options.signal),

    async getHostingAccount(identifier, options = {}) {
      const reply = await send({ method: "GET", path: pathOf(identifier), ...options });
      return answerOf(reply, objectBody<HostingAccount>(reply));
    },

    async createHostingAccount(account, options = {}) {
      const reply = await send({
        method: "POST",
        path: "/hostingaccounts",
        body: { servicepack_id: account.servicePackId, identifier: account.identifier, password: account.password },
        ...options,
      });
      return answerOf(reply, { identifier: idFromLocation(reply) });
    },

    async provisioned(account, options = {}) {
      const identifier = typeof account === "string" ? account : account.data.identifier;
      const checkAfterSeconds = typeof account === "string" ? undefined : account.checkAfterSeconds;
      const ended = await calls.waitForHostingAccount(identifier, { checkAfterSeconds, ...options });
      if (ended.data.status !== "Ready") throw new UnsuccessfulError(`the account ${identifier}`, ended.data);
      return ended;
    },

    waitForHostingAccount: (identifier, options = {}) =>
      waitUntilFinal(
        (waitSeconds) => calls.getHostingAccount(identifier, { waitSeconds, signal: options.signal }),
        (account) => account.status,
        (account) => account.status !== "Provisioning",
        options,
        clock,
      ),

    async getHostingHistory(identifier, { signal } = {}) {
      const reply = await send({ method: "GET", path: `${pathOf(identifier)}/history`, signal });
      return answerOf(reply, objectBody<HostingHistory>(reply));
    },

    async listServicePacks(options = {}) {
      const reply = await send({ method: "GET", path: "/servicepacks", signal: options.signal });
      return answerOf(reply, arrayBody<ServicePack>(reply));
    },
  };
  return calls;
}

type HostingChanges = Pick<
  HostingCalls,
  "setHostingPassword" | "suspendHostingAccount" | "unsuspendHostingAccount" | "deleteHostingAccount"
>;

/** Changes of an account: each is answered at once, and in effect within seconds. */
function hostingChanges(send: Send): HostingChanges {
  const setSuspension = async (identifier: string, body: object, options: WriteOptions) => {
    const path = `${pathOf(identifier)}/suspension`;
    return answerOf(await send({ method: "PUT", path, body, ...options }), undefined);
  };

  return {
    async setHostingPassword(identifier, password, options = {}) {
      const path = `${pathOf(identifier)}/password`;
      return answerOf(await send({ method: "PUT", path, body: { password }, ...options }), undefined);
    },

    async suspendHostingAccount(identifier, { reason, ...options } = {}) {
      return setSuspension(identifier, { suspended: true, ...(reason !== undefined && { reason }) }, options);
    },

    async unsuspendHostingAccount(identifier, options = {}) {
      return setSuspension(identifier, { suspended: false }, options);
    },

    async deleteHostingAccount(identifier, options = {}) {
      return answerOf(await send({ method: "DELETE", path: pathOf(identifier), ...options }), undefined);
    },
  };
}
