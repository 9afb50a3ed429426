/** Commands that prepare another one: they are no events of their row, whose step continues at once. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { Answered } from "#domains/orders/send.ts";

const answerPreparation = statement(
  "preparation-answer",
  "UPDATE attempts SET result_code = $result_code, sv_trid = $sv_trid, answered_at = $at WHERE cl_trid = $cl_trid",
  {},
);

/** Records the answer to a command that only prepares another one. */
export async function recordPreparation(
  { database, clock }: Pick<Context, "database" | "clock">,
  { clTrid, response }: Pick<Answered<unknown>, "clTrid" | "response">,
): Promise<void> {
  const answer = { cl_trid: clTrid, result_code: response.code, sv_trid: response.svTRID ?? null };
  await database.query(answerPreparation, { ...answer, at: clock.now() });
}
