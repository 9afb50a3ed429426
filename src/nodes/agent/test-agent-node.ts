/** For tests: any node, as the agent on it sees it. */
import type { AgentNode, RefusedState } from "../agent-node.ts";
import { type HostingNode, NodeRefused } from "../driver.ts";

export function agentNodeOf(driver: HostingNode): AgentNode {
  return {
    ...driver,
    async apply(states) {
      const refused: RefusedState[] = [];
      for (const state of states) {
        const done = state.kind === "account" ? driver.ensureAccount(state.account) : driver.remove(state.account);
        await done.catch((error) => {
          if (!(error instanceof NodeRefused)) throw error;
          const { identifier, uid } = state.account;
          refused.push({ identifier, uid, reason: error.reason });
        });
      }
      return refused;
    },
    close: async () => {},
  };
}
