/**
 * The driver of a node that is reached through its agent. An operation writes the desired state, or a question, to the
 * database and waits for the agent, which fetches both by itself. Nothing here connects to a node, so any process can run
 * any operation.
 */
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { changeState } from "#hosting/channel/desired.ts";
import { askNode, results } from "#hosting/channel/questions.ts";
import { usageChangesOf } from "#hosting/channel/usage.ts";
import { Secret } from "#lib/secret.ts";
import { type Endpoint, type HostingNode, NodeUnavailable } from "#nodes/driver.ts";

const readHighestUid = statement(
  "node-uid-highest-read",
  "SELECT uid_highest FROM node_channels WHERE node_id = $node_id",
  { uid_highest: "int8?" },
);

/** FTP login, upload and HTTP read may take 10 s each. */
const probeMs = 45_000;

/**
 * @param nodeId a row in hosting_nodes that an agent has joined, or will join
 * @param ftp the FTP server's address as seen from here: the agent knows only the node's side
 */
export function createAgentDriver(context: Context, nodeId: string, ftp: Endpoint): HostingNode {
  const driver: HostingNode = {
    ensureAccount: (account) => changeState(context, nodeId, account, account),
    remove: (key) => changeState(context, nodeId, key, undefined),
    find: async (identifier) =>
      (await askNode(context, nodeId, { method: "find", key: { identifier }, result: results.find })) ?? undefined,
    list: () => askNode(context, nodeId, { method: "list", result: results.list, waitMs: probeMs }),
    highestUid: async () => {
      // The agent reports it with every request for its state, so also before it receives anything new. Null before its first one.
      const [channel] = await context.database.query(readHighestUid, { node_id: nodeId });
      return channel?.uid_highest ?? (await driver.list()).reduce((highest, { uid }) => Math.max(highest, uid), 0);
    },
    usageChanges: (question) => usageChangesOf(context, nodeId, question),
    probe: async (key) => {
      await askNode(context, nodeId, { method: "probe", key, result: results.probe, waitMs: probeMs });
    },
    oneTimeLogin: async (key) => {
      const login = await askNode(context, nodeId, { method: "oneTimeLogin", key, result: results.oneTimeLogin });
      return { ...login, ...ftp, password: new Secret(login.password) };
    },
  };
  return withoutDatabaseErrors(driver);
}

/** The contract has two errors: a node whose state cannot be written counts as a node that cannot be reached. */
function withoutDatabaseErrors(driver: HostingNode): HostingNode {
  const wrapped = Object.entries(driver).map(([name, operation]) => [
    name,
    async (...values: unknown[]) => {
      try {
        return await operation(...values);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error;
        throw new NodeUnavailable(error.message, { cause: error });
      }
    },
  ]);
  return Object.fromEntries(wrapped);
}
