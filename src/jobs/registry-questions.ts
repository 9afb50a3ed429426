/** Answers questions about names for the processes that have no session at the registry (src/domains/compare/name-questions.ts). */
import { statement } from "#db/statement.ts";
import { lookAtName } from "#domains/compare/look-at-name.ts";
import { type NameAnswer, questionChannel } from "#domains/compare/name-questions.ts";
import { awaitIdleTurn, type RegistrySessions } from "#domains/registry/sessions.ts";
import { findServing } from "#domains/registry/target.ts";

const batchRows = 50;
/** How often questions are read without a notification, which may have been lost. */
const pollMs = 1_000;
/** A process that has waited for longer is gone. */
const unreadHoursMax = 1;

// The clocks of the asking process and of the session holder may differ; the database has one.
const openQuestions = statement(
  "name-questions-open",
  `SELECT id, registry_id, domain_name, takes_over FROM name_questions
   WHERE answer IS NULL AND asked_at > now() - interval '${unreadHoursMax} hours'
     AND (registry_id IS NULL OR registry_id = $registry_id) AND is_paced = $is_paced AND id <> ALL ($left_out::text[])
   ORDER BY asked_at LIMIT $rows_max`,
  { id: "text", registry_id: "text?", domain_name: "text", takes_over: "bool" },
);
type Question = NonNullable<(typeof openQuestions)["row"]>;

const writeAnswer = statement(
  "name-question-answer",
  "UPDATE name_questions SET answer = $answer WHERE id = $id AND answer IS NULL",
  {},
);

const dropUnread = statement(
  "name-questions-drop",
  `DELETE FROM name_questions WHERE asked_at < now() - interval '${unreadHoursMax} hours'`,
  {},
);

/** Answers from now on, beginning with the questions that are still unanswered. @returns a function that stops it */
export function answerQuestions(sessions: RegistrySessions, ended: AbortSignal): () => Promise<void> {
  const { context, profile } = sessions;
  // Those of one name do not wait for those of thousands.
  const lines = [false, true].map((isPaced) => startLine(sessions, ended, isPaced));
  const answerAll = () => {
    for (const line of lines) line.run();
  };
  const stopListening = context.listener.on(questionChannel, (payload) => {
    if (payload === "" || payload === profile.id) answerAll();
  });
  const poll = setInterval(answerAll, pollMs);
  answerAll();
  return async () => {
    stopListening();
    clearInterval(poll);
    await Promise.all(lines.map(({ idle }) => idle()));
  };
}

/** One run at a time; a call during a run makes it look again. */
function startLine(sessions: RegistrySessions, ended: AbortSignal, isPaced: boolean) {
  const { context, profile } = sessions;
  let isCalled = false;
  let running: Promise<void> | undefined;
  const work = async () => {
    while (isCalled && !ended.aborted) {
      isCalled = false;
      await answerOpen(sessions, ended, isPaced);
    }
  };
  const run = () => {
    isCalled = true;
    running ??= work()
      .catch((error: unknown) =>
        context.log.warn({ err: error, registry: profile.id }, "questions about names could not be answered"),
      )
      .finally(() => {
        running = undefined;
      });
  };
  return { run, idle: async () => running };
}

async function answerOpen(sessions: RegistrySessions, ended: AbortSignal, isPaced: boolean): Promise<void> {
  const { context, profile } = sessions;
  const leftOut: string[] = [];
  for (;;) {
    const values = { registry_id: profile.id, is_paced: isPaced, left_out: leftOut, rows_max: batchRows };
    const questions = await context.database.query(openQuestions, values);
    if (questions.length === 0) return;
    await context.database.query(dropUnread, {});
    for (const question of questions) {
      if (isPaced && !(await awaitIdleTurn(sessions, ended))) return;
      if (ended.aborted) return;
      const answer = await answerOf(sessions, question);
      if (answer) await context.database.query(writeAnswer, { id: question.id, answer });
      else leftOut.push(question.id);
    }
  }
}

/** @returns undefined when another registry serves the name */
async function answerOf(sessions: RegistrySessions, question: Question): Promise<NameAnswer | undefined> {
  const { profile } = sessions;
  const { domain_name: name, takes_over: takesOver } = question;
  if (question.registry_id === null) {
    const served = findServing(sessions.context, name);
    if ("refusal" in served) return { is: "not-served", reason: served.refusal };
    if (served.registry.id !== profile.id) return undefined;
  }
  const look = await lookAtName(sessions, name, { takesOver, purpose: "change" });
  return { ...look, registry: profile.id };
}
