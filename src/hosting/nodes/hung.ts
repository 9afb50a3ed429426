/**
 * Keeps a node that hangs from holding all jobs of a worker, for each of them would wait until its time is over: after one
 * that waited in vain, one job at a time tries the node, and the others come again later, at once. So what is asked of
 * other nodes goes on.
 */
import type { Clock } from "#lib/clock.ts";
import { type HostingNode, NodeUnavailable } from "#nodes/driver.ts";

/** A node that says so quickly that it cannot holds nobody up. */
const hungMs = 4_000;

/** @throws NodeUnavailable from its operations without asking the node, while another one tries it */
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
