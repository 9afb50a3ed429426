/** Usage of a node's accounts, as its agent reported it: read from the database, waiting for changes. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { nodeUsageChannel } from "#hosting/channel/channels.ts";
import type { HostingNode, UsageChanges } from "#nodes/driver.ts";

const readVersion = statement(
  "node-usage-version",
  "SELECT usage_version FROM node_channels WHERE node_id = $node_id",
  { usage_version: "int8" },
);
const readUsage = statement(
  "node-usage-read",
  `SELECT identifier, uid, used_bytes, used_files, traffic_month, traffic_bytes FROM node_states
   WHERE node_id = $node_id AND state IS NOT NULL AND usage_version > $after`,
  {
    identifier: "text",
    uid: "int8",
    used_bytes: "int8",
    used_files: "int8",
    traffic_month: "text?",
    traffic_bytes: "int8?",
  },
);

type Question = Parameters<HostingNode["usageChanges"]>[0];

export async function usageChangesOf(context: Context, nodeId: string, question: Question): Promise<UsageChanges> {
  return waitForNotification(context, nodeUsageChannel, nodeId, {
    read: () => changesAfter(context, nodeId, question.after),
    isAwaited: ({ accounts }) => accounts.length > 0,
    waitMs: question.waitMs,
    signal: question.signal ?? new AbortController().signal,
  });
}

async function changesAfter({ database }: Context, nodeId: string, after: number): Promise<UsageChanges> {
  // The version is read first: a change in between is returned twice, and none is left out.
  const [channel] = await database.query(readVersion, { node_id: nodeId });
  if (!channel) return { version: 0, accounts: [] };
  const version = channel.usage_version;
  // Versions begin with 1. A version that was never issued asks for everything, accounts without a report included.
  const isOurs = after >= 1 && after <= version;
  const rows = await database.query(readUsage, { node_id: nodeId, after: isOurs ? after : -1 });
  const accounts = rows.map(
    ({ identifier, uid, used_bytes: bytes, used_files: files, traffic_month, traffic_bytes }) => {
      const traffic = traffic_month === null ? {} : { traffic: { month: traffic_month, bytes: traffic_bytes ?? 0 } };
      return { identifier, uid, bytes, files, ...traffic };
    },
  );
  return { version, accounts };
}
