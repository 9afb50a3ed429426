/** The embedded node as its agent sees it: the hosting contract, on the accounts of this process. */
import { Value } from "typebox/value";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { AccountJson, accountToJson } from "#nodes/account-json.ts";
import type { AgentNode, RefusedState } from "#nodes/agent-node.ts";
import { type AccountKey, type Endpoint, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";
import { type Accounts, describeAccount } from "#nodes/embedded/accounts.ts";
import type { Marks } from "#nodes/embedded/marks.ts";
import type { OneTimeLogins } from "#nodes/embedded/one-time-logins.ts";
import type { UsageFeed } from "#nodes/homes/usage-feed.ts";
import { probeAccount } from "#nodes/probe.ts";

export interface EmbeddedAgentNodeOptions {
  accounts: Accounts;
  feed: UsageFeed;
  marks: Marks;
  oneTimeLogins: OneTimeLogins;
  /** PEM: what the FTP server shows. */
  certificate: string;
  /** Where a probe finds the node's servers. */
  ftp: Endpoint;
  web: Endpoint;
  siteDomain: string;
  usageWaitMsMax: number;
  random: Random;
  log: Log;
}

/** Its operations apply to the same accounts as the FTP and web servers of this process. */
export function createEmbeddedAgentNode(options: EmbeddedAgentNodeOptions): AgentNode {
  const { accounts, feed, marks, oneTimeLogins, certificate, ftp, usageWaitMsMax } = options;
  const node: AgentNode = {
    ensureAccount: (account) =>
      withContractErrors(async () => {
        if (!Value.Check(AccountJson, accountToJson(account))) throw new NodeRefused("invalid");
        await accounts.ensure(account);
      }),
    remove: (key) => withContractErrors(() => accounts.remove(key)),
    async apply(states) {
      const refused: RefusedState[] = [];
      for (const state of states) {
        const { identifier, uid } = state.account;
        const applied = state.kind === "account" ? node.ensureAccount(state.account) : node.remove(state.account);
        await applied.catch((error: unknown) => {
          if (!(error instanceof NodeRefused)) throw error;
          refused.push({ identifier, uid, reason: error.reason });
        });
      }
      return refused;
    },
    async find(identifier) {
      const account = accounts.find(identifier);
      return account && describeAccount(account);
    },
    list: async () => accounts.list().map(describeAccount),
    highestUid: async () => marks.highestUid,
    async usageChanges({ after, waitMs, signal }) {
      if (feed.changedAfter(after).length === 0 && waitMs > 0) {
        await feed.nextChange(Math.min(waitMs, usageWaitMsMax), signal ?? new AbortController().signal);
      }
      return accounts.usageAfter(after);
    },
    async probe(key) {
      const { identifier, suspended, ftpEnabled } = accounts.get(key).record;
      if (suspended) throw new NodeRefused("suspended");
      const login = ftpEnabled ? await createLogin(key) : null;
      await probeAccount({ ...options, identifier, login: login && { ...login, password: login.password.reveal() } });
    },
    oneTimeLogin: async (key) => ({ ...ftp, ...(await createLogin(key)) }),
    close: async () => {},
  };
  const createLogin = async (key: AccountKey) => ({ ...oneTimeLogins.create(accounts.get(key)), certificate });
  return node;
}

/** Runs a change. After an error of the disk it may be in force or not. */
async function withContractErrors(change: () => Promise<void>): Promise<void> {
  try {
    await change();
  } catch (error) {
    if (error instanceof NodeRefused) throw error;
    throw new NodeUnavailable(`the outcome of the change is unknown: ${(error as Error).message}`, { cause: error });
  }
}
