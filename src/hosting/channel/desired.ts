/**
 * Writes down what an account of a node shall be, and waits until the node holds it. What is written stays wanted also
 * when nobody waits any more; only what the node refuses is taken back (src/hosting/channel/sync.ts).
 */

import { Type } from "typebox";
import { Value } from "typebox/value";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { type SqlValue, statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { nodeAppliedChannel, nodeDesiredChannel } from "#hosting/channel/channels.ts";
import { isAheadText, silentText, type TakenVersion, takeNodeVersion } from "#hosting/channel/versions.ts";
import { removesNothingText } from "#hosting/nodes/restored.ts";
import { Secret } from "#lib/secret.ts";
import { AccountJson, accountToJson, Identifier, Uid } from "#nodes/account-json.ts";
import {
  type AccountKey,
  type DesiredAccount,
  NodeRefused,
  NodeUnavailable,
  type RefusalReason,
} from "#nodes/driver.ts";

/** How long a change may take to reach a node that listens. */
const acknowledgedMs = 10_000;

const readState = statement(
  "node-state-read",
  `SELECT identifier, version, state, password_hash_sealed, held_version, held_state, held_hash_sealed
   FROM node_states WHERE node_id = $1 AND uid = $2`,
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
  `SELECT EXISTS (SELECT FROM node_states WHERE node_id = $1 AND identifier = $3 AND uid <> $2 AND state IS NOT NULL)
       AS is_taken,
     EXISTS (SELECT FROM node_host_names WHERE node_id = $1 AND (uid = $2 OR host_name = ANY($4::text[]))) AS has_names`,
  { is_taken: "bool", has_names: "bool" },
);

const writeState = statement(
  "node-state-write",
  `WITH written AS (
     INSERT INTO node_states (node_id, uid, identifier, version, state, password_hash_sealed, held_version, held_state, held_hash_sealed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (node_id, uid) DO UPDATE SET version = EXCLUDED.version, state = EXCLUDED.state,
       password_hash_sealed = EXCLUDED.password_hash_sealed, held_version = EXCLUDED.held_version,
       held_state = EXCLUDED.held_state, held_hash_sealed = EXCLUDED.held_hash_sealed)
   SELECT pg_notify('${nodeDesiredChannel}', $1)::text AS notified`,
  { notified: "text" },
);

// As the node does it by itself: so what is told to it anew, in whatever order, ends the same.
const takeNames = statement(
  "node-host-names-take",
  `WITH taken AS (DELETE FROM node_host_names WHERE node_id = $1 AND (uid = $2 OR host_name = ANY($3::text[]))
       RETURNING uid, host_name),
     losing AS (SELECT uid, array_agg(host_name) AS names FROM taken WHERE uid <> $2 GROUP BY uid)
   UPDATE node_states SET state = jsonb_set(state, '{hostNames}', (state->'hostNames') - names)
   FROM losing WHERE node_id = $1 AND node_states.uid = losing.uid AND state IS NOT NULL`,
  {},
);
const giveNames = statement(
  "node-host-names-give",
  "INSERT INTO node_host_names (node_id, uid, host_name) SELECT $1, $2, unnest($3::text[])",
  {},
);

const readOutcome = statement(
  "node-change-outcome",
  `SELECT applied_version, ahead_version, (SELECT reason FROM node_refusals AS refusal
     WHERE refusal.node_id = $1 AND uid = $2 AND after_version < $3 AND version >= $3 LIMIT 1) AS reason
   FROM node_channels WHERE node_id = $1`,
  { applied_version: "int8", ahead_version: "int8?", reason: "text?" },
);

/** What an account's hash is sealed for. */
export const nodeHashRow = (nodeId: string, uid: number) => `node_states.password_hash/${nodeId}/${uid}`;

/** What the row's `state` holds: everything but the hash. */
export type StoredState = Omit<AccountJson, "passwordHash">;

const Key = Type.Object({ identifier: Identifier, uid: Uid });

/** What an account shall be; undefined: gone. */
type Wanted = DesiredAccount | undefined;

/**
 * @param wanted of the account that `key` names
 * @throws NodeRefused uid_taken, uid_retired, identifier_taken, invalid; NodeUnavailable
 */
export async function changeState(context: Context, nodeId: string, key: AccountKey, wanted: Wanted): Promise<void> {
  // What the agent cannot read would keep everything behind it from the node.
  if (!Value.Check(Key, { identifier: key.identifier, uid: key.uid })) throw new NodeRefused("invalid");
  const taken = await context.database.transaction((tx) => writeChange(context, tx, nodeId, key, wanted));
  if (!taken.isListening) throw new NodeUnavailable(silentText(nodeId));
  await untilHeld(context, nodeId, key.uid, taken);
}

async function writeChange(
  context: Context,
  tx: Transaction,
  nodeId: string,
  { identifier, uid }: AccountKey,
  wanted: Wanted,
): Promise<TakenVersion> {
  const taken = await takeNodeVersion(context, tx, nodeId);
  const [row] = await tx.query(readState, [nodeId, uid]);
  if (row && row.identifier !== identifier) throw new NodeRefused("uid_taken");
  if (row && row.state === null && wanted) throw new NodeRefused("uid_retired");
  if (!wanted && taken.isRestored) throw new NodeUnavailable(removesNothingText(nodeId));
  if (wanted && !Value.Check(AccountJson, accountToJson(wanted))) throw new NodeRefused("invalid");
  const names = wanted?.hostNames ?? [];
  const [claims] = await tx.query(readClaims, [nodeId, uid, identifier, names]);
  // The node would refuse it as well, but not to whoever asks next.
  if (wanted && claims!.is_taken) throw new NodeRefused("identifier_taken");
  const columns = [...columnsOf(context, nodeId, wanted), ...held(row, taken)];
  await tx.query(writeState, [nodeId, uid, identifier, taken.version, ...columns]);
  if (claims!.has_names) await tx.query(takeNames, [nodeId, uid, names]);
  if (names.length > 0) await tx.query(giveNames, [nodeId, uid, names]);
  return taken;
}

/** `state` and `password_hash_sealed` */
function columnsOf({ sealer }: Context, nodeId: string, wanted: Wanted): SqlValue[] {
  if (!wanted) return [null, null];
  const { passwordHash, ...state } = accountToJson(wanted);
  const row = nodeHashRow(nodeId, wanted.uid);
  return [JSON.stringify(state), passwordHash === null ? null : sealer.seal(row, new Secret(passwordHash))];
}

/** What the node surely holds of the account: the row as it was, if that was acknowledged. */
function held(row: StateRow | undefined, { applied }: TakenVersion): SqlValue[] {
  if (!row) return [null, null, null];
  if (row.version <= applied) return [row.version, jsonText(row.state), row.password_hash_sealed];
  return [row.held_version, jsonText(row.held_state), row.held_hash_sealed];
}

const jsonText = (value: unknown) => (value === null ? null : JSON.stringify(value));

async function untilHeld(
  context: Context,
  nodeId: string,
  uid: number,
  { version, ahead }: TakenVersion,
): Promise<void> {
  const outcome = await waitForNotification(context, nodeAppliedChannel, nodeId, {
    read: async () => (await context.database.point(readOutcome, [nodeId, uid, version]))[0],
    isAwaited: (read) =>
      !read || read.reason !== null || read.ahead_version !== ahead || read.applied_version >= version,
    waitMs: acknowledgedMs,
    signal: new AbortController().signal,
  });
  if (outcome?.reason) throw new NodeRefused(outcome.reason as RefusalReason);
  // The version that was taken means something else by now.
  if (outcome && outcome.ahead_version !== ahead) throw new NodeUnavailable(isAheadText(nodeId));
  if (outcome && outcome.applied_version >= version) return;
  throw new NodeUnavailable(`the node ${nodeId} did not acknowledge the change within ${acknowledgedMs / 1000} s`);
}
