/**
 * Makes a hosting account real: chooses its node, sees that login, home and site exist there, and proves it with a
 * probe. Every step can be repeated: killed anywhere, it is simply run again.
 */
import type { Context } from "#context.ts";
import {
  type Account,
  type AccountHappening,
  findAccount,
  happenToAccount,
  passwordHashRow,
} from "#hosting/accounts.ts";
import { backoffMs } from "#lib/backoff.ts";
import { type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

const backoff = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** A creation that takes longer should be looked at by a person. */
const alarmAfterMs = 10 * 60_000;
/** After this long without success, and only with nothing left on the node, the creation is given up. */
const givenUpAfterMs = 24 * 60 * 60_000;

const failedText = "The account could not be created. The identifier is free again; ask the operator for the cause.";

/** The nodes' drivers, by node id. */
export type HostingNodes = ReadonlyMap<string, HostingNode>;

/** The task `provision`. */
export async function provisionAccount(context: Context, nodes: HostingNodes, accountId: number): Promise<void> {
  let account = await findAccount(context, accountId);
  if (account?.status !== "Provisioning") return;
  if (account.node_id === null) {
    // The choice is committed before anything is made: a retry must never make the account on a second node.
    const [nodeId] = nodes.keys();
    if (nodeId === undefined) throw new Error("no hosting node is configured");
    await record(context, account, { event: "placed", nodeId });
    account = { ...account, node_id: nodeId };
  }
  const node = nodes.get(account.node_id ?? "");
  if (!node) throw new Error(`the hosting node ${account.node_id} is not configured any more`);
  await record(context, account, await makeAndProbe(context, node, account));
}

async function record(context: Context, account: Account, happening: AccountHappening): Promise<void> {
  await context.database.transaction((tx) => happenToAccount(context, tx, account, happening));
  if (happening.operatorNote) {
    const fields = { alarm: "hosting", identifier: account.identifier, note: happening.operatorNote };
    context.log.error(fields, "a hosting account's creation needs an operator");
  }
}

async function makeAndProbe(context: Context, node: HostingNode, account: Account): Promise<AccountHappening> {
  const key = { identifier: account.identifier, uid: account.uid };
  try {
    await node.ensureAccount({
      ...key,
      passwordHash: context.sealer.open(passwordHashRow(account.identifier), account.password_hash_sealed),
      diskBytesMax: account.disk_quota_bytes,
      filesMax: account.files_max,
      sessionsMax: account.ftp_sessions_max,
      ftpEnabled: true,
      suspended: false,
    });
    await node.probe(key);
    return { event: "probed" };
  } catch (error) {
    if (error instanceof NodeUnavailable) return doubtful(context, node, account, error.message);
    if (!(error instanceof NodeRefused)) throw error;
    return giveUp(context, node, account, error.message);
  }
}

async function doubtful(
  context: Context,
  node: HostingNode,
  account: Account,
  note: string,
): Promise<AccountHappening> {
  const ageMs = context.clock.now().getTime() - account.created_at.getTime();
  if (ageMs > givenUpAfterMs) return giveUp(context, node, account, note);
  return again(context, account, note, ageMs > alarmAfterMs);
}

function again(context: Context, account: Account, note: string, isAlarming: boolean): AccountHappening {
  const delayMs = backoffMs(account.backoff_count + 1, backoff, context.random);
  const nextStepAt = new Date(context.clock.now().getTime() + delayMs);
  return { event: "doubtful", note, nextStepAt, ...(isAlarming && { operatorNote: `still not ready: ${note}` }) };
}

/** What was made is unmade before the identifier is free again; while that cannot be done, it is not given up. */
async function giveUp(context: Context, node: HostingNode, account: Account, note: string): Promise<AccountHappening> {
  try {
    await node.remove({ identifier: account.identifier, uid: account.uid });
    return { event: "refused", note, errorText: failedText };
  } catch (error) {
    if (!(error instanceof NodeUnavailable)) throw error;
    return again(context, account, note, true);
  }
}
