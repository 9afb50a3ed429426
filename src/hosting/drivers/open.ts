/**
 * The drivers of the hosting nodes. They follow the rows: when a node is added, changed or deleted while a process runs, the
 * row's notification opens, reopens or closes its driver.
 */
import type { Context } from "#context.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { sparingJobs } from "#hosting/drivers/hung.ts";
import { type NodeKind, type NodePlace, readNodePlaces } from "#hosting/nodes/nodes.ts";
import { assertMayRemove } from "#hosting/nodes/restored.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import { createSerialQueue } from "#lib/queues/serial-queue.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { Secret } from "#lib/secret.ts";
import { createCpanelDriver } from "#nodes/cpanel/driver.ts";
import { type HostingNode, NodeUnavailable } from "#nodes/driver.ts";
import { probeLogin } from "#nodes/probe.ts";

export interface HostingNodes {
  /** The driver of a node; undefined when there is no such node. */
  find(nodeId: string): Promise<HostingNode | undefined>;
  /** Resolves when every `whileOpen` has ended. */
  close(): Promise<void>;
}

/** Runs for each node while it is open, e.g. follows the usage of its accounts. Must not throw. */
export type WhileOpen = (driver: HostingNode, nodeId: string, signal: AbortSignal) => Promise<void>;

type OpenDriver = (context: Context, place: NodePlace) => HostingNode;

const drivers: { readonly [Kind in NodeKind]: OpenDriver } = {
  embedded: (context, place) => probedAsCustomersDo(context, place, createAgentDriver(context, place.id, place.ftp)),
  "proftpd-nginx": (context, place) =>
    probedAsCustomersDo(context, place, createAgentDriver(context, place.id, place.ftp)),
  cpanel: (context, { id, ftp, web, settings }) => {
    const { clock, random, log, siteDomain } = context;
    const driver = createCpanelDriver({
      ftp,
      web,
      siteDomain,
      clock,
      random,
      log,
      url: settings.url ?? "",
      user: settings.user ?? "",
      token: new Secret(settings.token ?? ""),
      installation: settings.installation ?? "",
      mailDomain: settings.mailDomain ?? "",
      plan: settings.plan,
      ca: settings.ca,
    });
    return removingOnlyWhatIsKnown(context, id, driver);
  },
};

/**
 * An agent probes its own servers, and does not know which FTP address the gateway shows to customers. So that address is tried
 * from here, which also covers most of what lies between customers and the node.
 */
function probedAsCustomersDo(context: Context, { id, ftp }: NodePlace, node: HostingNode): HostingNode {
  return {
    ...node,
    async probe(account) {
      await node.probe(account);
      const found = await node.find(account.identifier);
      if (!found?.ftpEnabled) return;
      const { user, password, certificate } = await node.oneTimeLogin(account);
      const options = { ftp, identifier: account.identifier, random: context.random, log: context.log };
      await probeLogin(options, { user, password: password.reveal(), certificate }).catch((error: Error) => {
        const problem = `customers cannot log in at ${ftp.host}:${ftp.port}, the node's FTP address (${error.message})`;
        throw new NodeUnavailable(`${problem}: correct it with deedhouse node set ${id} --ftp HOST:PORT, or open it`);
      });
    },
  };
}

/**
 * Checks before each removal whether the database was restored since the last question. A node with an agent reports it
 * unasked, before it receives anything.
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
  /** The row that it was opened with, as JSON. */
  place: string;
  closing: AbortController;
  ended: Promise<void>;
}

/** Opens all nodes. @throws DatabaseUnavailable when they cannot be read */
export async function openHostingNodes(context: Context, whileOpen: WhileOpen = async () => {}): Promise<HostingNodes> {
  const open = new Map<string, OpenNode>();
  /** Of nodes that were closed, until they have ended. */
  const ending = new Set<Promise<void>>();
  const queue = createSerialQueue();

  function closeNode(nodeId: string): void {
    const node = open.get(nodeId);
    if (!node) return;
    open.delete(nodeId);
    ending.add(node.ended);
    node.ended.then(() => ending.delete(node.ended)).catch(reportDefect);
    node.closing.abort();
  }

  function openNode(place: NodePlace): void {
    const asText = JSON.stringify(place);
    if (open.get(place.id)?.place === asText) return;
    closeNode(place.id);
    const driver = sparingJobs(drivers[place.kind](context, place), context.clock);
    const closing = new AbortController();
    const ended = whileOpen(driver, place.id, closing.signal).catch(reportDefect);
    open.set(place.id, { driver, place: asText, closing, ended });
  }

  /** One at a time, so that the last read wins. */
  function read(nodeId: string | null): Promise<void> {
    return queue(async () => {
      const places = await readNodePlaces(context, nodeId);
      const there = new Set(places.map(({ id }) => id));
      for (const id of nodeId === null ? [...open.keys()] : [nodeId]) if (!there.has(id)) closeNode(id);
      for (const place of places) openNode(place);
    });
  }

  // After a failure, the connection's heartbeat fails too, and the reconnect reads everything again.
  const readAgain = (nodeId: string | null) => {
    read(nodeId).catch((error: unknown) => context.log.warn({ err: error }, "the hosting nodes cannot be read"));
  };
  const stopListening = context.listener.on("hosting_node_changed", readAgain);
  const stopReconnects = context.listener.onReconnect(() => readAgain(null));
  await read(null);

  return {
    async find(nodeId) {
      // The notification of a node that was just added may still be on its way.
      if (!open.has(nodeId)) await read(nodeId);
      return open.get(nodeId)?.driver;
    },
    async close() {
      stopListening();
      stopReconnects();
      // All reads before it have ended.
      await queue(async () => {});
      for (const nodeId of [...open.keys()]) closeNode(nodeId);
      await Promise.all(ending);
    },
  };
}
