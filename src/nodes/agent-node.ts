/** A hosting node as the agent on it sees it. */
import type { AccountKey, DesiredAccount, HostingNode, RefusalReason } from "#nodes/driver.ts";

/** What an account shall be: there as described, or gone. */
export type AccountState =
  | { kind: "account"; account: DesiredAccount }
  /** A tombstone: login and site are gone, the files in the trash, and the uid is never used again. */
  | { kind: "removed"; account: AccountKey };

export interface RefusedState extends AccountKey {
  reason: RefusalReason;
}

export interface AgentNode extends HostingNode {
  /**
   * Brings each of these accounts to what it shall be, in one go: thousands of accounts write the login file once. Once
   * it returns, everything is in force, as for the operations of the contract. Accounts that are not named stay as they are.
   * @returns the states that the node will never take on; all others hold
   * @throws NodeUnavailable when it is not known what holds: apply the same states again
   */
  apply(states: readonly AccountState[]): Promise<RefusedState[]>;
  close(): Promise<void>;
}
