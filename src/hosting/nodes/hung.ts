/**
 * Keeps a node that hangs from occupying all jobs of a worker, each of which would wait for its timeout. After one timeout, one
 * job at a time tries the node, and the others fail at once and retry later. So jobs for other nodes continue.
 */
import type { Clock } from "#lib/clock.ts";
import { type HostingNode, NodeUnavailable } from "#nodes/driver.ts";

/** A node that fails faster than this delays nothing. */
const hungMs = 4_000;

/** The same node, whose operations fail with NodeUnavailable while another job tries it. */
export function sparingJobs(node: HostingNode, clock: Pick<Clock, "monotonicMs">): HostingNode {
  let isHung = false;
  let isTried = false;

  async function run<Result>(operation: () => Promise<Result>): Promise<Result> {
    if (isHung && isTried) throw new NodeUnavailable("the node does not answer; another account tries it");
    const isTrial = isHung;
    isTried = isTrial;
    const startedMs = clock.monotonicMs();
    try {
      const result = await operation();
      isHung = false;
      return result;
    } catch (error) {
      isHung = error instanceof NodeUnavailable && clock.monotonicMs() - startedMs >= hungMs;
      throw error;
    } finally {
      if (isTrial) isTried = false;
    }
  }

  return {
    ...node,
    ensureAccount: (account) => run(() => node.ensureAccount(account)),
    remove: (account) => run(() => node.remove(account)),
    find: (identifier) => run(() => node.find(identifier)),
    list: () => run(() => node.list()),
    highestUid: () => run(() => node.highestUid()),
    probe: (account) => run(() => node.probe(account)),
    oneTimeLogin: (account) => run(() => node.oneTimeLogin(account)),
  };
}
