/** Questions to a node: rows that its agent fetches with the desired state, and answers in a report. */
import { type Static, type TProperties, type TSchema, Type } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { waitForNotification } from "#db/wait.ts";
import { nodeAnsweredChannel, nodeDesiredChannel } from "#hosting/channel/channels.ts";
import { silentText, takeNodeVersion } from "#hosting/channel/versions.ts";
import { Answer } from "#nodes/agent/messages.ts";
import type { QuestionMethod } from "#nodes/agent/state-document.ts";
import { type AccountKey, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

const answerMsDefault = 10_000;
/** Of a node's explanation, which is stored with the account and shown. */
const reasonCharsMax = 500;

const insertQuestion = statement(
  "node-question-insert",
  `WITH expired AS (DELETE FROM node_questions WHERE node_id = $node_id AND expires_at < $now),
     asked AS (INSERT INTO node_questions (id, node_id, version, method, identifier, uid, expires_at)
       VALUES ($id, $node_id, $version, $method, $identifier, $uid, $expires_at))
   SELECT notify_after_commit('${nodeDesiredChannel}', $node_id)::text AS notified`,
  { notified: "text" },
);
const readParts = statement(
  "node-answer-read",
  "SELECT parts, text_sealed FROM node_answer_parts WHERE question_id = $question_id ORDER BY part",
  { parts: "int4", text_sealed: "bytea" },
);
const deleteQuestion = statement("node-question-delete", "DELETE FROM node_questions WHERE id = $id", {});

/** The context that an answer's parts are sealed for. */
export const answerRow = (questionId: string) => `node_answer_parts.text/${questionId}`;

export interface NodeQuestion<Result extends TSchema> {
  method: QuestionMethod;
  key?: Partial<AccountKey>;
  /** The form of a valid result. */
  result: Validator<TProperties, Result>;
  waitMs?: number;
}

/** @throws NodeUnavailable, NodeRefused */
export async function askNode<Result extends TSchema>(
  context: Context,
  nodeId: string,
  { method, key, result, waitMs = answerMsDefault }: NodeQuestion<Result>,
): Promise<Static<Result>> {
  const { database, random, clock } = context;
  const id = random.uuid();
  await database.transaction(async (tx) => {
    const { version, isListening } = await takeNodeVersion(context, tx, nodeId);
    if (!isListening) throw new NodeUnavailable(silentText(nodeId));
    const now = clock.now();
    const { identifier = "", uid = 0 } = key ?? {};
    const expires_at = new Date(now.getTime() + waitMs);
    await tx.query(insertQuestion, { id, node_id: nodeId, version, method, identifier, uid, now, expires_at });
  });
  try {
    const text = await readAnswer(context, id, waitMs);
    if (text === undefined) throw new NodeUnavailable(`the node ${nodeId} did not answer within ${waitMs / 1000} s`);
    const answer = parseAnswer(text);
    if (!answer) throw new NodeUnavailable(notUnderstoodText(nodeId));
    if ("refused" in answer) throw new NodeRefused(answer.refused);
    if ("unavailable" in answer) throw new NodeUnavailable(answer.unavailable.slice(0, reasonCharsMax));
    if (result.Check(answer.result)) return answer.result as Static<Result>;
    throw new NodeUnavailable(notUnderstoodText(nodeId));
  } finally {
    // If this fails, the next question deletes it once it has expired.
    await database.query(deleteQuestion, { id }).catch(() => {});
  }
}

const notUnderstoodText = (nodeId: string) =>
  `the node ${nodeId} sent an answer of an unknown form: is its agent of another version?`;

async function readAnswer(context: Context, id: string, waitMs: number): Promise<string | undefined> {
  const parts = await waitForNotification(context, nodeAnsweredChannel, id, {
    read: () => context.database.point(readParts, { question_id: id }),
    isAwaited: (rows) => rows.length > 0 && rows.length === rows[0]!.parts,
    waitMs,
    signal: new AbortController().signal,
  });
  if (parts.length === 0 || parts.length < parts[0]!.parts) return undefined;
  return parts.map((part) => context.sealer.open(answerRow(id), part.text_sealed).reveal()).join("");
}

function parseAnswer(text: string): Answer | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return checkAnswer.Check(answer) ? answer : undefined;
  } catch {
    // The parser's message would quote the text, which may contain a one-time password.
    return undefined;
  }
}

const count = Type.Integer({ minimum: 0 });
const AccountResult = Type.Object({
  identifier: Type.String(),
  uid: Type.Integer(),
  diskBytesMax: count,
  filesMax: count,
  sessionsMax: count,
  ftpEnabled: Type.Boolean(),
  suspended: Type.Boolean(),
  hostNames: Type.Array(Type.String()),
  usage: Type.Object({ bytes: count, files: count }),
});

/** The form of each method's result. Compiled, because a node's list is long. */
export const results = {
  find: Compile(Type.Union([AccountResult, Type.Null()])),
  list: Compile(Type.Array(AccountResult)),
  probe: Compile(Type.Null()),
  oneTimeLogin: Compile(Type.Object({ user: Type.String(), password: Type.String(), certificate: Type.String() })),
};
const checkAnswer = Compile(Answer);
