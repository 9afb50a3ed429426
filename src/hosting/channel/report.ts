/** What a node tells by itself: answers to questions, and what its accounts use. */
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
  `UPDATE node_channels SET report_counter = $2, usage_version = usage_version + $3
   WHERE node_id = $1 AND report_counter < $2 RETURNING usage_version`,
  { usage_version: "int8" },
);
const readCounter = statement(
  "node-report-counter-read",
  "SELECT report_counter FROM node_channels WHERE node_id = $1",
  {
    report_counter: "int8",
  },
);
const writeUsage = statement(
  "node-usage-write",
  `WITH told AS (SELECT uid, identifier, bytes, files, traffic FROM jsonb_to_recordset($2::jsonb)
       AS told (uid bigint, identifier text, bytes bigint, files bigint, traffic jsonb)),
     changed AS (UPDATE node_states AS known SET used_bytes = bytes, used_files = files,
         traffic_month = traffic->>'month', traffic_bytes = (traffic->>'bytes')::bigint, usage_version = $3
       FROM told WHERE known.node_id = $1 AND known.uid = told.uid AND known.identifier = told.identifier
         AND (used_bytes, used_files, traffic_month, traffic_bytes)
           IS DISTINCT FROM (bytes, files, traffic->>'month', (traffic->>'bytes')::bigint)
       RETURNING known.uid)
   SELECT pg_notify('${nodeUsageChannel}', $1)::text AS notified WHERE EXISTS (SELECT FROM changed)`,
  { notified: "text" },
);
// The question must be this node's: another node's is not there for it.
const writePart = statement(
  "node-answer-write",
  `INSERT INTO node_answer_parts (question_id, part, parts, text_sealed)
   SELECT id, $3, $4, $5 FROM node_questions WHERE id = $2 AND node_id = $1 ON CONFLICT DO NOTHING`,
  {},
);
const tellAnswered = statement(
  "node-answered-tell",
  `SELECT pg_notify('${nodeAnsweredChannel}', $1)::text AS notified
   WHERE (SELECT count(*) FROM node_answer_parts WHERE question_id = $1::uuid) = $2::int`,
  { notified: "text" },
);

export async function takeReport(context: Context, claim: SignedRequest): Promise<void> {
  const body = parseBody(reportForm, claim.body);
  await context.database.transaction((tx) => takeIn(context, tx, claim, body));
}

async function takeIn({ sealer }: Context, tx: Transaction, { node, counter }: NodeRequest, body: ReportBody) {
  const [channel] = await tx.query(takeCounter, [node, counter, body.usage.length > 0 ? 1 : 0]);
  if (!channel) {
    const [kept] = await tx.query(readCounter, [node]);
    throw new AgentRefusal(401, "counter_too_low", kept?.report_counter ?? 0);
  }
  if (body.usage.length > 0) await tx.query(writeUsage, [node, JSON.stringify(body.usage), channel.usage_version]);
  for (const { question, part, parts, text } of body.answers) {
    const sealed = sealer.seal(answerRow(question), new Secret(text));
    await tx.query(writePart, [node, question, part, parts, sealed]);
    await tx.query(tellAnswered, [question, parts]);
  }
}
