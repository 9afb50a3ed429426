/**
 * A node says what it has and asks what it shall have. What it asks after is acknowledged by that: the node keeps on disk
 * how far it is, and its own counter forbids repeating or reordering what it said.
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
import { wakeOnNode } from "#hosting/wake.ts";
import { holdMs, SyncBody } from "#nodes/agent/messages.ts";
import type { NodeRequest } from "#nodes/agent/request-signature.ts";

const syncForm = Compile(SyncBody);

/** No gateway lives to issue so many. Whoever claims more lies, and there would be none left to go on with. */
const aheadVersionMax = 2 ** 50;

/** Who waits for a change waits for seconds; an operator may look later. */
const refusalsKeptHours = 24;

const takeCounter = statement(
  "node-sync-counter",
  `UPDATE node_channels AS channel SET sync_counter = $2, last_seen_at = $3, agent_version = $4, uid_highest = $5
   FROM node_channels AS former WHERE channel.node_id = $1 AND former.node_id = $1 AND channel.sync_counter < $2
   RETURNING channel.issued_version, former.applied_version, former.last_seen_at`,
  { issued_version: "int8", applied_version: "int8", last_seen_at: "timestamptz?" },
);
const readCounter = statement("node-sync-counter-read", "SELECT sync_counter FROM node_channels WHERE node_id = $1", {
  sync_counter: "int8",
});
const acknowledge = statement(
  "node-applied",
  `WITH applied AS (UPDATE node_channels SET applied_version = $2 WHERE node_id = $1)
   SELECT pg_notify('${nodeAppliedChannel}', $1)::text AS notified`,
  { notified: "text" },
);
// What the node has not been told of since the restore may have a uid that it was told of before. So it is not told of it: the
// uid is compared with the node's, and drawn again if need be.
const unsayNew = statement(
  "node-ahead-unsay",
  `WITH unissued AS (SELECT uid FROM node_states
       WHERE node_id = $1 AND version > $2 AND held_version IS NULL AND state IS NOT NULL),
     accounts AS (UPDATE hosting_accounts AS account SET must_check_uid = true FROM unissued
       WHERE account.uid = unissued.uid AND node_id = $1 AND status = 'Provisioning' AND error_text IS NULL
       RETURNING account.uid),
     moves AS (UPDATE hosting_moves SET must_check_uid = true FROM unissued
       WHERE target_uid = unissued.uid AND target_node_id = $1 AND state = 'Copying' RETURNING target_uid)
   DELETE FROM node_states WHERE node_id = $1 AND uid IN (SELECT uid FROM accounts UNION SELECT target_uid FROM moves)`,
  {},
);
// What else was not issued yet is told after what the node knows. A removal is not: it would be told on the word of a database
// that does not know what became of the account, and stays unsaid until an operator goes on (src/hosting/channel/restore.ts).
const goOnAfter = statement(
  "node-ahead-go-on",
  `WITH told AS (SELECT uid, row_number() OVER (ORDER BY version) AS place FROM node_states
       WHERE node_id = $1 AND version > $3 AND state IS NOT NULL),
     moved AS (UPDATE node_states SET version = $2 + place, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
       FROM told WHERE node_id = $1 AND node_states.uid = told.uid),
     withheld AS (UPDATE node_states SET version = $2 WHERE node_id = $1 AND version > $3 AND state IS NULL),
     ahead AS (UPDATE node_channels SET ahead_version = $2, issued_version = $2, head = $2 + (SELECT count(*) FROM told)
       WHERE node_id = $1)
   SELECT pg_notify('${nodeAppliedChannel}', $1)::text AS notified`,
  { notified: "text" },
);

const noteRefusals = statement(
  "node-refusals-note",
  `WITH told AS (SELECT version, uid, reason FROM jsonb_to_recordset($2::jsonb) AS told (version bigint, uid bigint, reason text)),
     old AS (DELETE FROM node_refusals WHERE node_id = $1 AND refused_at < $3::timestamptz - make_interval(hours => $4))
   INSERT INTO node_refusals (node_id, uid, after_version, version, identifier, reason, refused_at)
   SELECT $1, uid, coalesce(held_version, -1), told.version, identifier, reason, $3
   FROM told JOIN node_states USING (uid) WHERE node_id = $1 AND told.version <= node_states.version
   ON CONFLICT DO NOTHING`,
  {},
);
// Nothing to go back to, or not any more: somebody else has the identifier now.
const dropRefused = statement(
  "node-states-drop-refused",
  `DELETE FROM node_states AS refused USING jsonb_to_recordset($2::jsonb) AS told (version bigint, uid bigint)
   WHERE refused.node_id = $1 AND refused.uid = told.uid AND refused.version = told.version
     AND (held_version IS NULL OR EXISTS (SELECT FROM node_states AS other WHERE other.node_id = $1
       AND other.identifier = refused.identifier AND other.uid <> refused.uid AND other.state IS NOT NULL))`,
  {},
);
// Told anew: the node may have applied something between what it held and what it refused.
const takeBackRefused = statement(
  "node-states-take-back",
  `WITH told AS (SELECT version, uid FROM jsonb_to_recordset($2::jsonb) AS told (version bigint, uid bigint)),
     refused AS (SELECT uid, row_number() OVER (ORDER BY uid) AS place FROM node_states JOIN told USING (uid, version)
       WHERE node_id = $1 AND held_version IS NOT NULL),
     channel AS (UPDATE node_channels SET head = head + (SELECT count(*) FROM refused) WHERE node_id = $1 RETURNING head)
   UPDATE node_states SET version = head - (SELECT count(*) FROM refused) + place, state = held_state,
     password_hash_sealed = held_hash_sealed, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
   FROM refused, channel WHERE node_states.node_id = $1 AND node_states.uid = refused.uid`,
  {},
);

const isNews = statement(
  "node-has-news",
  `SELECT head > $2 OR EXISTS (
     SELECT FROM node_questions WHERE node_id = $1 AND version > $3 AND expires_at > $4) AS is_news
   FROM node_channels WHERE node_id = $1`,
  { is_news: "bool" },
);

/** An agent asks again as soon as it is answered, which takes so long at most: after more, it was away. */
const absentMs = holdMs + 5_000;

export interface SyncAnswer {
  body: Buffer;
  signature: string;
}

/** @returns the signed document; nothing when nothing changed for as long as the gateway holds a question */
export async function sync(
  context: Context,
  gatewayKey: GatewayKey,
  claim: SignedRequest,
  request: AgentRequest,
): Promise<SyncAnswer | undefined> {
  const body = parseBody(syncForm, claim.body);
  const { isAhead, isBack } = await context.database.transaction((tx) => takeIn(context, tx, claim, body));
  if (isAhead) {
    await recordRefusal(context, claim.node, request, "it has applied what was never issued");
    throw new AgentRefusal(409, "node_is_ahead");
  }
  if (isBack) await wakeOnNode(context, claim.node);
  const { node, counter } = claim;
  const hasNews = await waitForNotification(context, nodeDesiredChannel, node, {
    read: async () => {
      const [row] = await context.database.point(isNews, [node, body.after, body.asked, context.clock.now()]);
      return row?.is_news ?? false;
    },
    isAwaited: (isThere) => isThere,
    waitMs: holdMs,
    signal: request.signal,
  });
  if (!hasNews || request.signal.aborted) return undefined;
  return issueState(context, gatewayKey, { node, counter, after: body.after, asked: body.asked });
}

interface TakenIn {
  /**
   * The node has applied more than this database has ever issued: nothing is believed of it then, and it is told again from
   * the version on that it knows.
   */
  isAhead: boolean;
  /** It was away: what waits for it need not wait any more. */
  isBack: boolean;
}

async function takeIn(
  context: Context,
  tx: Transaction,
  { node, counter }: NodeRequest,
  body: SyncBody,
): Promise<TakenIn> {
  const now = context.clock.now();
  const [channel] = await tx.query(takeCounter, [node, counter, now, body.agentVersion, body.highestUid ?? null]);
  if (!channel) {
    const [kept] = await tx.query(readCounter, [node]);
    throw new AgentRefusal(401, "counter_too_low", kept?.sync_counter ?? 0);
  }
  const known = Math.max(body.after, body.head);
  if (known > channel.issued_version) {
    if (known < aheadVersionMax) {
      await tx.query(unsayNew, [node, channel.issued_version]);
      await tx.query(goOnAfter, [node, known, channel.issued_version]);
      const why = `knows the version ${known} of its accounts, and this database has issued none above ${channel.issued_version}`;
      await markRestored(context, tx, node, why);
    }
    return { isAhead: true, isBack: false };
  }
  if (body.refused.length > 0) {
    const refused = JSON.stringify(body.refused);
    await tx.query(noteRefusals, [node, refused, now, refusalsKeptHours]);
    await tx.query(dropRefused, [node, refused]);
    await tx.query(takeBackRefused, [node, refused]);
  }
  const isChanged = body.after !== channel.applied_version || body.refused.length > 0;
  if (isChanged) await tx.query(acknowledge, [node, body.after]);
  const silentMs = now.getTime() - (channel.last_seen_at ?? now).getTime();
  return { isAhead: false, isBack: silentMs > absentMs };
}
