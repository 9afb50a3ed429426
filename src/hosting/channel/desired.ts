/**
 * Records the desired state of an account of a node, and waits until the node has applied it. A recorded state stays desired
 * when no caller waits for it any more; only the node's refusal reverts it (src/hosting/channel/sync.ts).
 */

import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { nodeAppliedChannel, nodeDesiredChannel } from "#hosting/channel/channels.ts";
import { isAheadText, silentText, type TakenVersion, takeNodeVersion } from "#hosting/channel/versions.ts";
import { removesNothingText } from "#hosting/nodes/restored.ts";
import { Secret } from "#lib/secret.ts";
import { AccountJson, accountToJson, Identifier, Uid } from "#nodes/account-json.ts";
import { type AccountKey, type DesiredAccount, NodeRefused, NodeUnavailable, refusalReasons } from "#nodes/driver.ts";

/** How long a change may take to reach a node that listens. */
const acknowledgedMs = 10_000;

const readState = statement(
  "node-state-read",
  `SELECT identifier, version, state, password_hash_sealed, held_version, held_state, held_hash_sealed
   FROM node_states WHERE node_id = $node_id AND uid = $uid`,
  {
    identifier: "text",
    version: "int8",
    state: "jsonb?",
    password_hash_sealed: "bytea?",
    held_version: "int8?",
    held_state: "jsonb?",
    held_hash_sealed: "bytea?",
  },
);
type StateRow = NonNullable<(typeof readState)["row"]>;

const readClaims = statement(
  "node-state-claims",
  `SELECT EXISTS (SELECT FROM node_states
       WHERE node_id = $node_id AND identifier = $identifier AND uid <> $uid AND state IS NOT NULL) AS is_taken,
     EXISTS (SELECT FROM node_host_names
       WHERE node_id = $node_id AND (uid = $uid OR host_name = ANY($host_names::text[]))) AS has_names`,
  { is_taken: "bool", has_names: "bool" },
);

const writeState = statement(
  "node-state-write",
  `WITH written AS (
     INSERT INTO node_states (node_id, uid, identifier, version, state, password_hash_sealed,
       held_version, held_state, held_hash_sealed)
     VALUES ($node_id, $uid, $identifier, $version, $state, $password_hash_sealed,
       $held_version, $held_state, $held_hash_sealed)
     ON CONFLICT (node_id, uid) DO UPDATE SET version = EXCLUDED.version, state = EXCLUDED.state,
       password_hash_sealed = EXCLUDED.password_hash_sealed, held_version = EXCLUDED.held_version,
       held_state = EXCLUDED.held_state, held_hash_sealed = EXCLUDED.held_hash_sealed)
   SELECT notify_after_commit('${nodeDesiredChannel}', $node_id)::text AS notified`,
  { notified: "text" },
);

// The node moves host names between accounts in the same way, so sending the states again, in any order, ends the same.
const takeNames = statement(
  "node-host-names-take",
  `WITH taken AS (DELETE FROM node_host_names WHERE node_id = $node_id AND (uid = $uid OR host_name = ANY($host_names::text[]))
       RETURNING uid, host_name),
     losing AS (SELECT uid, array_agg(host_name) AS names FROM taken WHERE uid <> $uid GROUP BY uid)
   UPDATE node_states SET state = jsonb_set(state, '{hostNames}', (state->'hostNames') - names)
   FROM losing WHERE node_id = $node_id AND node_states.uid = losing.uid AND state IS NOT NULL`,
  {},
);
const giveNames = statement(
  "node-host-names-give",
  "INSERT INTO node_host_names (node_id, uid, host_name) SELECT $node_id, $uid, unnest($host_names::text[])",
  {},
);

const readOutcome = statement(
  "node-change-outcome",
  `SELECT applied_version, ahead_version, (SELECT reason FROM node_refusals AS refusal
     WHERE refusal.node_id = $node_id AND uid = $uid AND after_version < $version AND version >= $version LIMIT 1) AS reason
   FROM node_channels WHERE node_id = $node_id`,
  { applied_version: "int8", ahead_version: "int8?", reason: [...refusalReasons, null] },
);

/** The context that an account's hash is sealed for. */
export const nodeHashRow = (nodeId: string, uid: number) => `node_states.password_hash/${nodeId}/${uid}`;

/** The content of `node_states.state`: everything but the hash. */
export type StoredState = Omit<AccountJson, "passwordHash">;

const Key = Type.Object({ identifier: Identifier, uid: Uid });

/** Undefined: the account is to be removed. */
type Desired = DesiredAccount | undefined;

/**
 * @param desired the state of the account that `key` names
 * @throws NodeRefused uid_taken, uid_retired, identifier_taken, invalid; NodeUnavailable
 */
export async function changeState(context: Context, nodeId: string, key: AccountKey, desired: Desired): Promise<void> {
  // A state that the agent cannot parse would block all later ones.
  if (!Value.Check(Key, { identifier: key.identifier, uid: key.uid })) throw new NodeRefused("invalid");
  const taken = await context.database.transaction((tx) => writeChange(context, tx, nodeId, key, desired));
  if (!taken.isListening) throw new NodeUnavailable(silentText(nodeId));
  await untilApplied(context, nodeId, key.uid, taken);
}

async function writeChange(
  context: Pick<Context, "sealer" | "clock">,
  tx: Transaction,
  nodeId: string,
  { identifier, uid }: AccountKey,
  desired: Desired,
): Promise<TakenVersion> {
  const taken = await takeNodeVersion(context, tx, nodeId);
  const [row] = await tx.query(readState, { node_id: nodeId, uid });
  if (row && row.identifier !== identifier) throw new NodeRefused("uid_taken");
  if (row && row.state === null && desired) throw new NodeRefused("uid_retired");
  if (!desired && taken.isRestored) throw new NodeUnavailable(removesNothingText(nodeId));
  if (desired && !Value.Check(AccountJson, accountToJson(desired))) throw new NodeRefused("invalid");
  const names = { node_id: nodeId, uid, host_names: desired?.hostNames ?? [] };
  const [claims] = await tx.query(readClaims, { ...names, identifier });
  // The node would refuse it as well, but only the first caller would learn of it.
  if (desired && claims!.is_taken) throw new NodeRefused("identifier_taken");
  await tx.query(writeState, {
    node_id: nodeId,
    uid,
    identifier,
    version: taken.version,
    ...columnsOf(context, nodeId, desired),
    ...heldColumnsOf(row, taken),
  });
  if (claims!.has_names) await tx.query(takeNames, names);
  if (names.host_names.length > 0) await tx.query(giveNames, names);
  return taken;
}

function columnsOf({ sealer }: Pick<Context, "sealer">, nodeId: string, desired: Desired) {
  if (!desired) return { state: null, password_hash_sealed: null };
  const { passwordHash, ...state } = accountToJson(desired);
  const row = nodeHashRow(nodeId, desired.uid);
  const sealed = passwordHash === null ? null : sealer.seal(row, new Secret(passwordHash));
  return { state: JSON.stringify(state), password_hash_sealed: sealed };
}

/** What the node is known to hold of the account: the row as it was, if the node acknowledged it. */
function heldColumnsOf(row: StateRow | undefined, { applied }: TakenVersion) {
  if (!row) return { held_version: null, held_state: null, held_hash_sealed: null };
  const { held_version, held_state, held_hash_sealed } = row;
  if (row.version > applied) return { held_version, held_state: jsonText(held_state), held_hash_sealed };
  return { held_version: row.version, held_state: jsonText(row.state), held_hash_sealed: row.password_hash_sealed };
}

const jsonText = (value: unknown) => (value === null ? null : JSON.stringify(value));

async function untilApplied(
  context: Context,
  nodeId: string,
  uid: number,
  { version, ahead }: TakenVersion,
): Promise<void> {
  const outcome = await waitForNotification(context, nodeAppliedChannel, nodeId, {
    read: async () => (await context.database.point(readOutcome, { node_id: nodeId, uid, version }))[0],
    isAwaited: (read) =>
      !read || read.reason !== null || read.ahead_version !== ahead || read.applied_version >= version,
    waitMs: acknowledgedMs,
    signal: new AbortController().signal,
  });
  if (outcome?.reason) throw new NodeRefused(outcome.reason);
  // The version numbers were issued again, so ours now names another change.
  if (outcome && outcome.ahead_version !== ahead) throw new NodeUnavailable(isAheadText(nodeId));
  if (outcome && outcome.applied_version >= version) return;
  throw new NodeUnavailable(`the node ${nodeId} did not acknowledge the change within ${acknowledgedMs / 1000} s`);
}
