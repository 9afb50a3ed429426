/**
 * A node reports which version it has applied and asks for the states after it. Asking after a version acknowledges it. The
 * node stores that version on disk, and its counter rules out a request that is repeated or out of order.
 */
import { Compile } from "typebox/compile";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { AgentRefusal, type AgentRequest, recordRefusal, type SignedRequest } from "#hosting/channel/authenticate.ts";
import { parseBody } from "#hosting/channel/body.ts";
import { nodeAppliedChannel, nodeDesiredChannel } from "#hosting/channel/channels.ts";
import type { GatewayKey } from "#hosting/channel/gateway-key.ts";
import { issueState } from "#hosting/channel/issue-state.ts";
import { markRestored } from "#hosting/nodes/restored.ts";
import { wakeOnNode } from "#hosting/nodes/wake.ts";
import { holdMs, SyncBody } from "#nodes/agent/messages.ts";
import type { NodeRequest } from "#nodes/agent/request-signature.ts";

const syncForm = Compile(SyncBody);

/** No gateway issues this many versions. A higher one is a lie, and would leave no versions to continue with. */
const aheadVersionMax = 2 ** 50;

/** A caller waits for a change for seconds; an operator may look later. */
const refusalsKeptHours = 24;

const takeCounter = statement(
  "node-sync-counter",
  `UPDATE node_channels AS channel
   SET sync_counter = $counter, last_seen_at = $now, agent_version = $agent_version, uid_highest = $uid_highest
   FROM node_channels AS former
   WHERE channel.node_id = $node_id AND former.node_id = $node_id AND channel.sync_counter < $counter
   RETURNING channel.issued_version, former.applied_version, former.last_seen_at`,
  { issued_version: "int8", applied_version: "int8", last_seen_at: "timestamptz?" },
);
const readCounter = statement(
  "node-sync-counter-read",
  "SELECT sync_counter FROM node_channels WHERE node_id = $node_id",
  { sync_counter: "int8" },
);
const acknowledge = statement(
  "node-applied",
  `WITH applied AS (UPDATE node_channels SET applied_version = $version WHERE node_id = $node_id)
   SELECT notify_after_commit('${nodeAppliedChannel}', $node_id)::text AS notified`,
  { notified: "text" },
);
// A state that was not issued since the restore may use a uid that the node already knows. So the state is dropped: the uid is
// compared with the node's highest, and drawn again if need be.
const dropUnissued = statement(
  "node-ahead-unsay",
  `WITH unissued AS (SELECT uid FROM node_states
       WHERE node_id = $node_id AND version > $issued AND held_version IS NULL AND state IS NOT NULL),
     accounts AS (UPDATE hosting_accounts AS account SET must_check_uid = true FROM unissued
       WHERE account.uid = unissued.uid AND node_id = $node_id AND status = 'Provisioning' AND error_text IS NULL
       RETURNING account.uid),
     moves AS (UPDATE hosting_moves SET must_check_uid = true FROM unissued
       WHERE target_uid = unissued.uid AND target_node_id = $node_id AND state = 'Copying' RETURNING target_uid)
   DELETE FROM node_states WHERE node_id = $node_id AND uid IN (SELECT uid FROM accounts UNION SELECT target_uid FROM moves)`,
  {},
);
// All other unissued states get versions above the node's. Removals do not: this database does not know the fate of the
// account since the backup, so they are held back until an operator decides (src/hosting/channel/restore.ts).
const continueAfter = statement(
  "node-ahead-go-on",
  `WITH unissued AS (SELECT uid, row_number() OVER (ORDER BY version) AS place FROM node_states
       WHERE node_id = $node_id AND version > $issued AND state IS NOT NULL),
     moved AS (UPDATE node_states
       SET version = $known + place, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
       FROM unissued WHERE node_id = $node_id AND node_states.uid = unissued.uid),
     withheld AS (UPDATE node_states SET version = $known WHERE node_id = $node_id AND version > $issued AND state IS NULL),
     ahead AS (UPDATE node_channels
       SET ahead_version = $known, issued_version = $known, head = $known + (SELECT count(*) FROM unissued)
       WHERE node_id = $node_id)
   SELECT notify_after_commit('${nodeAppliedChannel}', $node_id)::text AS notified`,
  { notified: "text" },
);

const recordRefusedStates = statement(
  "node-refusals-note",
  `WITH refused AS (SELECT version, uid, reason FROM jsonb_to_recordset($refused::jsonb)
       AS refused (version bigint, uid bigint, reason text)),
     old AS (DELETE FROM node_refusals
       WHERE node_id = $node_id AND refused_at < $now::timestamptz - make_interval(hours => $kept_hours))
   INSERT INTO node_refusals (node_id, uid, after_version, version, identifier, reason, refused_at)
   SELECT $node_id, uid, coalesce(held_version, -1), refused.version, identifier, reason, $now
   FROM refused JOIN node_states USING (uid) WHERE node_id = $node_id AND refused.version <= node_states.version
   ON CONFLICT DO NOTHING`,
  {},
);
// Nothing to go back to, or another account has taken the identifier since.
const dropRefused = statement(
  "node-states-drop-refused",
  `DELETE FROM node_states AS state
   USING jsonb_to_recordset($refused::jsonb) AS refused (version bigint, uid bigint)
   WHERE state.node_id = $node_id AND state.uid = refused.uid AND state.version = refused.version
     AND (held_version IS NULL OR EXISTS (SELECT FROM node_states AS other WHERE other.node_id = $node_id
       AND other.identifier = state.identifier AND other.uid <> state.uid AND other.state IS NOT NULL))`,
  {},
);
// Sent again under a new version: the node may have applied something between the state it held and the one it refused.
const revertRefused = statement(
  "node-states-take-back",
  `WITH refused AS (SELECT version, uid FROM jsonb_to_recordset($refused::jsonb) AS refused (version bigint, uid bigint)),
     reverted AS (SELECT uid, row_number() OVER (ORDER BY uid) AS place FROM node_states JOIN refused USING (uid, version)
       WHERE node_id = $node_id AND held_version IS NOT NULL),
     channel AS (UPDATE node_channels SET head = head + (SELECT count(*) FROM reverted) WHERE node_id = $node_id
       RETURNING head)
   UPDATE node_states SET version = head - (SELECT count(*) FROM reverted) + place, state = held_state,
     password_hash_sealed = held_hash_sealed, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
   FROM reverted, channel WHERE node_states.node_id = $node_id AND node_states.uid = reverted.uid`,
  {},
);

const readNews = statement(
  "node-has-news",
  `SELECT head > $after OR EXISTS (
     SELECT FROM node_questions WHERE node_id = $node_id AND version > $asked AND expires_at > $now) AS is_news
   FROM node_channels WHERE node_id = $node_id`,
  { is_news: "bool" },
);

/** An agent asks again as soon as it has an answer, which takes `holdMs` at most. After a longer silence it was away. */
const absentMs = holdMs + 5_000;

export interface SyncAnswer {
  body: Buffer;
  signature: string;
}

/** @returns the signed document; undefined when nothing changed for `holdMs` */
export async function sync(
  context: Context,
  gatewayKey: GatewayKey,
  claim: SignedRequest,
  request: AgentRequest,
): Promise<SyncAnswer | undefined> {
  const body = parseBody(syncForm, claim.body);
  const { isAhead, isBack } = await context.database.transaction((tx) => recordSync(context, tx, claim, body));
  if (isAhead) {
    await recordRefusal(context, claim.node, request, "it has applied what was never issued");
    throw new AgentRefusal(409, "node_is_ahead");
  }
  if (isBack) await wakeOnNode(context, claim.node);
  const { node, counter } = claim;
  const { after, asked } = body;
  const hasNews = await waitForNotification(context, nodeDesiredChannel, node, {
    read: async () => {
      const [row] = await context.database.point(readNews, { node_id: node, after, asked, now: context.clock.now() });
      return row?.is_news ?? false;
    },
    isAwaited: (isThere) => isThere,
    waitMs: holdMs,
    signal: request.signal,
  });
  if (!hasNews || request.signal.aborted) return undefined;
  return issueState(context, gatewayKey, { node, counter, after, asked });
}

interface RecordedSync {
  /**
   * The node has applied a later version than this database has issued. Nothing else that it says is recorded then, and
   * the numbering continues after its version.
   */
  isAhead: boolean;
  /** The node was away: work that waits for it can run now. */
  isBack: boolean;
}

async function recordSync(
  context: Context,
  tx: Transaction,
  { node, counter }: NodeRequest,
  body: SyncBody,
): Promise<RecordedSync> {
  const now = context.clock.now();
  const [channel] = await tx.query(takeCounter, {
    node_id: node,
    counter,
    now,
    agent_version: body.agentVersion,
    uid_highest: body.highestUid ?? null,
  });
  if (!channel) {
    const [kept] = await tx.query(readCounter, { node_id: node });
    throw new AgentRefusal(401, "counter_too_low", kept?.sync_counter ?? 0);
  }
  const known = Math.max(body.after, body.head);
  const issued = channel.issued_version;
  if (known > issued) {
    if (known < aheadVersionMax) {
      await tx.query(dropUnissued, { node_id: node, issued });
      await tx.query(continueAfter, { node_id: node, known, issued });
      const why = `knows the version ${known} of its accounts, and this database has issued none above ${issued}`;
      await markRestored(context, tx, node, why);
    }
    return { isAhead: true, isBack: false };
  }
  if (body.refused.length > 0) {
    const refused = { node_id: node, refused: JSON.stringify(body.refused) };
    await tx.query(recordRefusedStates, { ...refused, now, kept_hours: refusalsKeptHours });
    await tx.query(dropRefused, refused);
    await tx.query(revertRefused, refused);
  }
  const isChanged = body.after !== channel.applied_version || body.refused.length > 0;
  if (isChanged) await tx.query(acknowledge, { node_id: node, version: body.after });
  const silentMs = now.getTime() - (channel.last_seen_at ?? now).getTime();
  return { isAhead: false, isBack: silentMs > absentMs };
}
