/** Builds the signed document that holds a node's desired state, or a page of it. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { nodeHashRow, type StoredState } from "#hosting/channel/desired.ts";
import type { GatewayKey } from "#hosting/channel/gateway-key.ts";
import type { SyncAnswer } from "#hosting/channel/sync.ts";
import {
  accountBytesInDocumentMax,
  accountsInDocumentMax,
  questionMethods,
  questionsInDocumentMax,
  type StateEntry,
  signState,
} from "#nodes/agent/state-document.ts";

// Commits before anything is sent. It waits for transactions that have taken a version and not committed yet. Only the newest
// request is answered: an earlier one may come from a server that is the node no longer.
const issue = statement(
  "node-state-issue",
  `UPDATE node_channels SET issued_version = greatest(issued_version, head)
   WHERE node_id = $node_id AND sync_counter = $counter RETURNING head`,
  { head: "int8" },
);
const readPage = statement(
  "node-states-page",
  `SELECT uid, identifier, version, state, password_hash_sealed FROM (
     SELECT uid, identifier, version, state, password_hash_sealed,
       sum(octet_length(state::text)) OVER (ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
     FROM (SELECT uid, identifier, version, state, password_hash_sealed FROM node_states
       WHERE node_id = $node_id AND version > $after AND version <= $head ORDER BY version LIMIT $rows_max) AS page) AS page
   WHERE coalesce(bytes_before, 0) < $bytes_max ORDER BY version`,
  { uid: "int8", identifier: "text", version: "int8", state: "jsonb?", password_hash_sealed: "bytea?" },
);
const hasMore = statement(
  "node-states-more",
  "SELECT EXISTS (SELECT FROM node_states WHERE node_id = $node_id AND version > $after AND version <= $head) AS is_more",
  { is_more: "bool" },
);
const readQuestions = statement(
  "node-questions-read",
  `SELECT id::text, version, method, identifier, uid FROM node_questions
   WHERE node_id = $node_id AND version > $asked AND version <= $version AND expires_at > $now
   ORDER BY version LIMIT $rows_max`,
  { id: "text", version: "int8", method: questionMethods, identifier: "text", uid: "int8" },
);

type PageRow = NonNullable<(typeof readPage)["row"]>;

export interface StateRequest {
  node: string;
  counter: number;
  after: number;
  asked: number;
}

/** @returns undefined when the node has sent a newer request meanwhile */
export async function issueState(
  context: Context,
  { privateKey }: GatewayKey,
  { node, counter, after, asked }: StateRequest,
): Promise<SyncAnswer | undefined> {
  const { database, clock } = context;
  const now = clock.now();
  const [channel] = await database.query(issue, { node_id: node, counter });
  if (!channel) return undefined;
  const { head } = channel;
  const rows = await database.query(readPage, {
    node_id: node,
    after,
    head,
    rows_max: accountsInDocumentMax,
    bytes_max: accountBytesInDocumentMax,
  });
  const last = rows.at(-1)?.version ?? after;
  const [more] = await database.query(hasMore, { node_id: node, after: last, head });
  const version = more!.is_more ? last : head;
  // A question about an account is sent no earlier than the account itself.
  const questions = await database.query(readQuestions, {
    node_id: node,
    asked,
    version,
    now,
    rows_max: questionsInDocumentMax,
  });
  const accounts = rows.map((row) => entryOf(context, node, row));
  const issuedAt = now.toISOString();
  return signState({ node, counter, after, version, head, issuedAt, accounts, questions }, privateKey);
}

function entryOf({ sealer }: Context, node: string, row: PageRow): StateEntry {
  const { uid, identifier, version, state, password_hash_sealed: sealed } = row;
  if (state === null) return { version, removed: { identifier, uid } };
  const passwordHash = sealed === null ? null : sealer.open(nodeHashRow(node, uid), sealed).reveal();
  return { version, account: { ...(state as StoredState), passwordHash } };
}
