/** Takes a node's reports: answers to questions, and the usage of its accounts. */
import { Compile } from "typebox/compile";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { AgentRefusal, type SignedRequest } from "#hosting/channel/authenticate.ts";
import { parseBody } from "#hosting/channel/body.ts";
import { nodeAnsweredChannel, nodeUsageChannel } from "#hosting/channel/channels.ts";
import { answerRow } from "#hosting/channel/questions.ts";
import { Secret } from "#lib/secret.ts";
import { ReportBody } from "#nodes/agent/messages.ts";
import type { NodeRequest } from "#nodes/agent/request-signature.ts";

const reportForm = Compile(ReportBody);

const takeCounter = statement(
  "node-report-counter",
  `UPDATE node_channels SET report_counter = $counter, usage_version = usage_version + $usage_versions
   WHERE node_id = $node_id AND report_counter < $counter RETURNING usage_version`,
  { usage_version: "int8" },
);
const readCounter = statement(
  "node-report-counter-read",
  "SELECT report_counter FROM node_channels WHERE node_id = $node_id",
  { report_counter: "int8" },
);
const writeUsage = statement(
  "node-usage-write",
  `WITH reported AS (SELECT uid, identifier, bytes, files, traffic FROM jsonb_to_recordset($usage::jsonb)
       AS reported (uid bigint, identifier text, bytes bigint, files bigint, traffic jsonb)),
     changed AS (UPDATE node_states AS known SET used_bytes = bytes, used_files = files,
         traffic_month = traffic->>'month', traffic_bytes = (traffic->>'bytes')::bigint, usage_version = $usage_version
       FROM reported
       WHERE known.node_id = $node_id AND known.uid = reported.uid AND known.identifier = reported.identifier
         AND (used_bytes, used_files, traffic_month, traffic_bytes)
           IS DISTINCT FROM (bytes, files, traffic->>'month', (traffic->>'bytes')::bigint)
       RETURNING known.uid)
   SELECT notify_after_commit('${nodeUsageChannel}', $node_id)::text AS notified WHERE EXISTS (SELECT FROM changed)`,
  { notified: "text" },
);
// Ignores answers to another node's questions.
const writePart = statement(
  "node-answer-write",
  `INSERT INTO node_answer_parts (question_id, part, parts, text_sealed)
   SELECT id, $part, $parts, $text_sealed FROM node_questions WHERE id = $question_id AND node_id = $node_id
   ON CONFLICT DO NOTHING`,
  {},
);
const notifyAnswered = statement(
  "node-answered-tell",
  `SELECT notify_after_commit('${nodeAnsweredChannel}', $question_id)::text AS notified
   WHERE (SELECT count(*) FROM node_answer_parts WHERE question_id = $question_id::uuid) = $parts::int`,
  { notified: "text" },
);

/** @throws AgentRefusal */
export async function takeReport(context: Context, claim: SignedRequest): Promise<void> {
  const body = parseBody(reportForm, claim.body);
  await context.database.transaction((tx) => recordReport(context, tx, claim, body));
}

async function recordReport({ sealer }: Context, tx: Transaction, { node, counter }: NodeRequest, body: ReportBody) {
  const usage_versions = body.usage.length > 0 ? 1 : 0;
  const [channel] = await tx.query(takeCounter, { node_id: node, counter, usage_versions });
  if (!channel) {
    const [kept] = await tx.query(readCounter, { node_id: node });
    throw new AgentRefusal(401, "counter_too_low", kept?.report_counter ?? 0);
  }
  if (body.usage.length > 0) {
    const { usage_version } = channel;
    await tx.query(writeUsage, { node_id: node, usage: JSON.stringify(body.usage), usage_version });
  }
  for (const { question, part, parts, text } of body.answers) {
    const text_sealed = sealer.seal(answerRow(question), new Secret(text));
    await tx.query(writePart, { node_id: node, question_id: question, part, parts, text_sealed });
    await tx.query(notifyAnswered, { question_id: question, parts });
  }
}
