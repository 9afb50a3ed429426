/** A hosting node as the agent on it sees it. */
import type { AccountKey, DesiredAccount, HostingNode, RefusalReason } from "#nodes/driver.ts";

/** The desired state of an account: present as described, or removed. */
export type AccountState =
  | { kind: "account"; account: DesiredAccount }
  /** A tombstone: login and site are gone, the files are in the trash, and the uid is never reused. */
  | { kind: "removed"; account: AccountKey };

export interface RefusedState extends AccountKey {
  reason: RefusalReason;
}

export interface AgentNode extends HostingNode {
  /**
   * Applies the desired states in one batch: thousands of accounts write the login file once. Once this returns, all of them
   * are in force, as for the operations of the contract. Other accounts are left alone.
   * @returns the states that the node refuses for good; all others are in force
   * @throws NodeUnavailable when the outcome is unknown: apply the same states again
   */
  apply(states: readonly AccountState[]): Promise<RefusedState[]>;
  close(): Promise<void>;
}
