/**
 * Questions about names from processes without a session at the registry, such as operators' commands. A question is a row; a
 * notification calls the owner of the registry's sessions, and its answer is written into the row, which the asker removes.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { NameLook } from "#domains/compare/look-at-name.ts";

/** Its payload: the registry's id, or nothing if the name's suffix says which registry is meant. */
export const questionChannel = "name_question";
const idBytes = 9;

const ask = statement(
  "name-question-ask",
  `WITH asked AS (
     INSERT INTO name_questions (id, registry_id, domain_name, takes_over, is_paced)
     VALUES ($id, $registry_id, $name, $takes_over, $is_paced) RETURNING registry_id)
   SELECT notify_after_commit('${questionChannel}', coalesce(registry_id, ''))::text AS notified FROM asked`,
  { notified: "text" },
);

const takeAnswer = statement(
  "name-question-answer-take",
  "DELETE FROM name_questions WHERE id = $id AND ($is_given_up OR answer IS NOT NULL) RETURNING answer",
  { answer: "jsonb?" },
);

export type NameAnswer =
  | (NameLook & { registry: string })
  /** No registry here serves the name's suffix. */
  | { is: "not-served"; reason: string };

export interface NameQuestion {
  /** Null: the registry that serves the name's suffix. */
  registryId: string | null;
  name: string;
  /** Whether the domain's row takes over what the registry shows. */
  takesOver: boolean;
  /** One of many: it waits for idle sessions. */
  isPaced: boolean;
}

type AskContext = Pick<Context, "database" | "random">;

/** @returns the id for `takeNameAnswer` */
export async function askName({ database, random }: AskContext, question: NameQuestion): Promise<string> {
  const { registryId, name, takesOver, isPaced } = question;
  const id = random.bytes(idBytes).toString("base64url");
  await database.query(ask, { id, registry_id: registryId, name, takes_over: takesOver, is_paced: isPaced });
  return id;
}

/** The answer, once there is one. @param isGivenUp nobody will ask for it again */
export async function takeNameAnswer(
  { database }: Pick<AskContext, "database">,
  id: string,
  isGivenUp = false,
): Promise<NameAnswer | undefined> {
  const [row] = await database.query(takeAnswer, { id, is_given_up: isGivenUp });
  return (row?.answer as NameAnswer | null | undefined) ?? undefined;
}
