/**
 * The drivers of the hosting nodes, kept as the rows say: a node that is added, moved or taken away while a process runs
 * is opened, opened anew or left, on the notification of its row.
 */
import type { Context } from "#context.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { sparingJobs } from "#hosting/nodes/hung.ts";
import { type NodeKind, type NodePlace, readNodePlaces } from "#hosting/nodes/nodes.ts";
import { assertMayRemove } from "#hosting/nodes/restored.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import { Secret } from "#lib/secret.ts";
import { createCpanelDriver } from "#nodes/cpanel/driver.ts";
import type { HostingNode } from "#nodes/driver.ts";

export interface HostingNodes {
  /** The driver of a node; nothing when there is no such node. */
  find(nodeId: string): Promise<HostingNode | undefined>;
  /** Resolves when everything that `whileOpen` does has ended. */
  close(): Promise<void>;
}

/** What is done with each node for as long as it is open, e.g. following what its accounts use. Must not throw. */
export type WhileOpen = (driver: HostingNode, nodeId: string, signal: AbortSignal) => Promise<void>;

type OpenDriver = (context: Context, place: NodePlace) => HostingNode;

const drivers: { readonly [Kind in NodeKind]: OpenDriver } = {
  embedded: (context, { id, ftp }) => createAgentDriver(context, id, ftp),
  "proftpd-nginx": (context, { id, ftp }) => createAgentDriver(context, id, ftp),
  cpanel: (context, { id, ftp, web, settings }) => {
    const { clock, random, log, siteDomain } = context;
    const driver = createCpanelDriver({
      ...{ ftp, web, siteDomain, clock, random, log },
      ...{ url: settings.url ?? "", user: settings.user ?? "", token: new Secret(settings.token ?? "") },
      ...{ installation: settings.installation ?? "", mailDomain: settings.mailDomain ?? "" },
      ...{ plan: settings.plan, ca: settings.ca },
    });
    return removingOnlyWhatIsKnown(context, id, driver);
  },
};

/**
 * Looks before each removal whether the database was restored: it may have been since the node was asked last. A node with an
 * agent says so by itself, before it is told anything.
 */
function removingOnlyWhatIsKnown(context: Context, nodeId: string, node: HostingNode): HostingNode {
  return {
    ...node,
    async remove(account) {
      await learnUids(context, node, nodeId);
      await assertMayRemove(context, nodeId);
      await node.remove(account);
    },
  };
}

interface OpenNode {
  driver: HostingNode;
  /** What it was opened with. */
  place: string;
  leave: AbortController;
  ended: Promise<void>;
}

/** Opens all nodes. @throws DatabaseUnavailable when they cannot be read at the start */
export async function openHostingNodes(context: Context, whileOpen: WhileOpen = async () => {}): Promise<HostingNodes> {
  const open = new Map<string, OpenNode>();
  /** What was left, as long as it has not ended. */
  const ending = new Set<Promise<void>>();
  let reading: Promise<void> = Promise.resolve();

  function leave(nodeId: string): void {
    const node = open.get(nodeId);
    if (!node) return;
    open.delete(nodeId);
    ending.add(node.ended);
    void node.ended.then(() => ending.delete(node.ended));
    node.leave.abort();
  }

  function take(place: NodePlace): void {
    const asText = JSON.stringify(place);
    if (open.get(place.id)?.place === asText) return;
    leave(place.id);
    const driver = sparingJobs(drivers[place.kind](context, place), context.clock);
    const leaving = new AbortController();
    const ended = whileOpen(driver, place.id, leaving.signal);
    open.set(place.id, { driver, place: asText, leave: leaving, ended });
  }

  /** One at a time, so that what was read last counts. */
  function read(nodeId: string | null): Promise<void> {
    reading = reading
      .catch(() => {})
      .then(async () => {
        const places = await readNodePlaces(context, nodeId);
        const there = new Set(places.map(({ id }) => id));
        for (const id of nodeId === null ? [...open.keys()] : [nodeId]) if (!there.has(id)) leave(id);
        for (const place of places) take(place);
      });
    return reading;
  }

  // After a failure the heartbeat of the connection fails too, and its return reads everything again.
  const readAgain = (nodeId: string | null) =>
    void read(nodeId).catch((error: unknown) => context.log.warn({ err: error }, "the hosting nodes cannot be read"));
  const stopListening = context.listener.on("hosting_node_changed", readAgain);
  const stopReconnects = context.listener.onReconnect(() => readAgain(null));
  await read(null);

  return {
    async find(nodeId) {
      // A node that was added a moment ago: its notification may be on its way.
      if (!open.has(nodeId)) await read(nodeId);
      return open.get(nodeId)?.driver;
    },
    async close() {
      stopListening();
      stopReconnects();
      await reading.catch(() => {});
      for (const nodeId of [...open.keys()]) leave(nodeId);
      await Promise.all(ending);
    },
  };
}
