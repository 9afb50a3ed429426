/** Makes the document that tells a node its desired state, or a page of it. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { nodeHashRow, type StoredState } from "#hosting/channel/desired.ts";
import type { GatewayKey } from "#hosting/channel/gateway-key.ts";
import type { SyncAnswer } from "#hosting/channel/sync.ts";
import {
  accountBytesInDocumentMax,
  accountsInDocumentMax,
  type Question,
  type QuestionMethod,
  questionsInDocumentMax,
  type StateEntry,
  signState,
} from "#nodes/agent/state-document.ts";

// Committed before anything is sent. It waits for whoever has taken a version and not committed yet. Only a node's newest
// request is answered: an earlier one that is still held may be of a machine that is not the node any more.
const issue = statement(
  "node-state-issue",
  "UPDATE node_channels SET issued_version = greatest(issued_version, head) WHERE node_id = $1 AND sync_counter = $2 RETURNING head",
  { head: "int8" },
);
const readPage = statement(
  "node-states-page",
  `SELECT uid, identifier, version, state, password_hash_sealed FROM (
     SELECT uid, identifier, version, state, password_hash_sealed,
       sum(octet_length(state::text)) OVER (ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before
     FROM (SELECT uid, identifier, version, state, password_hash_sealed FROM node_states
       WHERE node_id = $1 AND version > $2 AND version <= $3 ORDER BY version LIMIT $4) AS page) AS page
   WHERE coalesce(bytes_before, 0) < $5 ORDER BY version`,
  { uid: "int8", identifier: "text", version: "int8", state: "jsonb?", password_hash_sealed: "bytea?" },
);
const hasMore = statement(
  "node-states-more",
  "SELECT EXISTS (SELECT FROM node_states WHERE node_id = $1 AND version > $2 AND version <= $3) AS is_more",
  { is_more: "bool" },
);
const readQuestions = statement(
  "node-questions-read",
  `SELECT id::text, version, method, identifier, uid FROM node_questions
   WHERE node_id = $1 AND version > $2 AND version <= $3 AND expires_at > $4 ORDER BY version LIMIT $5`,
  { id: "text", version: "int8", method: "text", identifier: "text", uid: "int8" },
);

type PageRow = NonNullable<(typeof readPage)["row"]>;

export interface StateRequest {
  node: string;
  counter: number;
  after: number;
  asked: number;
}

/** @returns nothing when the node has asked again meanwhile */
export async function issueState(
  context: Context,
  { privateKey }: GatewayKey,
  { node, counter, after, asked }: StateRequest,
): Promise<SyncAnswer | undefined> {
  const { database, clock } = context;
  const [channel] = await database.query(issue, [node, counter]);
  if (!channel) return undefined;
  const { head } = channel;
  const rows = await database.query(readPage, [node, after, head, accountsInDocumentMax, accountBytesInDocumentMax]);
  const last = rows.at(-1)?.version ?? after;
  const [{ is_more: isMore }] = (await database.query(hasMore, [node, last, head])) as [{ is_more: boolean }];
  const version = isMore ? last : head;
  // A question about an account comes no sooner than the account itself.
  const questions = await database.query(readQuestions, [node, asked, version, clock.now(), questionsInDocumentMax]);
  const document = {
    ...{ node, counter, after, version, head },
    issuedAt: clock.now().toISOString(),
    accounts: rows.map((row) => entryOf(context, node, row)),
    questions: questions.map((question): Question => ({ ...question, method: question.method as QuestionMethod })),
  };
  return signState(document, privateKey);
}

function entryOf({ sealer }: Context, node: string, row: PageRow): StateEntry {
  const { uid, identifier, version, state, password_hash_sealed: sealed } = row;
  if (state === null) return { version, removed: { identifier, uid } };
  const passwordHash = sealed === null ? null : sealer.open(nodeHashRow(node, uid), sealed).reveal();
  return { version, account: { ...(state as StoredState), passwordHash } };
}
