/**
 * A node that is reached through its agent. Operations write to the database what shall be, or what is asked, and wait for
 * the agent, which fetches it by itself: nothing here connects to a node, and any process can do any of it.
 */
import type { Context } from "#context.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { changeState } from "#hosting/channel/desired.ts";
import { askNode, results } from "#hosting/channel/questions.ts";
import { usageChangesOf } from "#hosting/channel/usage.ts";
import { Secret } from "#lib/secret.ts";
import { type Endpoint, type HostingNode, NodeUnavailable } from "#nodes/driver.ts";

const readHighestUid = statement("node-uid-highest-read", "SELECT uid_highest FROM node_channels WHERE node_id = $1", {
  uid_highest: "int8?",
});

/** FTP log-in, upload and HTTP read, each of which may take 10 s. */
const probeMs = 45_000;

/**
 * @param nodeId of a row in hosting_nodes that is, or will be, joined by an agent
 * @param ftp where the node's FTP server is found from here: the agent knows it from its own side only
 */
export function createAgentDriver(context: Context, nodeId: string, ftp: Endpoint): HostingNode {
  const driver: HostingNode = {
    ensureAccount: (account) => changeState(context, nodeId, account, account),
    remove: (key) => changeState(context, nodeId, key, undefined),
    find: async (identifier) =>
      (await askNode(context, nodeId, { method: "find", key: { identifier }, result: results.find })) ?? undefined,
    list: () => askNode(context, nodeId, { method: "list", result: results.list, waitMs: probeMs }),
    highestUid: async () => {
      // The agent tells it whenever it asks for its state, so also before it is told of anything new. One of an earlier
      // release does not.
      const [channel] = await context.database.query(readHighestUid, [nodeId]);
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

/** The contract knows two errors: a node whose state cannot be written is one that cannot be reached. */
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
