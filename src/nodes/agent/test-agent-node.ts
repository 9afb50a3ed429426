/** For tests: a node from the agent's side. */
import type { AccountState, AgentNode } from "#nodes/agent-node.ts";
import { type DesiredAccount, NodeRefused, type RefusalReason } from "#nodes/driver.ts";

export interface MemoryNode extends AgentNode {
  accounts: Map<number, DesiredAccount>;
  /** The number of states in each call of `apply`. */
  applied: number[];
  /** Refuses the states of these uids. */
  refusing: Map<number, RefusalReason>;
}

/** A node without servers, for tests of the channel. */
export function memoryNode(): MemoryNode {
  const accounts = new Map<number, DesiredAccount>();
  const refusing = new Map<number, RefusalReason>();
  const applied: number[] = [];
  const nothing = async () => {};
  let highestUid = 0;
  const take = (state: AccountState) => {
    const { identifier, uid } = state.account;
    highestUid = Math.max(highestUid, uid);
    const reason = refusing.get(uid);
    if (reason) return [{ identifier, uid, reason }];
    if (state.kind === "account") accounts.set(uid, state.account);
    else accounts.delete(uid);
    return [];
  };
  const list = async () =>
    [...accounts.values()].map(({ passwordHash: _, ...shown }) => ({ ...shown, usage: { bytes: 0, files: 0 } }));
  const unsupported = async () => {
    throw new NodeRefused("unsupported");
  };
  return {
    accounts,
    applied,
    refusing,
    list,
    async apply(states) {
      applied.push(states.length);
      return states.flatMap(take);
    },
    ensureAccount: nothing,
    remove: nothing,
    probe: nothing,
    close: nothing,
    highestUid: async () => highestUid,
    find: async (identifier) => (await list()).find((account) => account.identifier === identifier),
    usageChanges: ({ signal }) =>
      new Promise((resolve) => {
        const version = 1;
        signal?.addEventListener("abort", () => resolve({ version, accounts: [] }), { once: true });
      }),
    oneTimeLogin: unsupported,
  };
}
