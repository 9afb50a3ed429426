/** Asks the owner of a registry's sessions about a name. */
import { askName, type NameAnswer, type NameQuestion, takeNameAnswer } from "#domains/compare/name-questions.ts";
import { listRegistries } from "#domains/registry/report.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { waitFor } from "#operator/wait-for.ts";
import { OperatorError } from "#operator-error.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

export type OwnersAnswer = Exclude<NameAnswer, { is: "not-served" }>;

/** @throws CommandFailure when no worker could answer about the registry; null: about any */
export async function requireOwner(context: OpenOperatorContext, registryId: string | null): Promise<void> {
  const registries = await listRegistries(context);
  const isOwned = registries.some(({ registry, owner }) => owner === "alive" && (registryId ?? registry) === registry);
  if (isOwned) return;
  const which = registryId === null ? "a registry" : registryId;
  throw new CommandFailure(`no worker is running that could ask ${which}`, exitCodes.unavailable, "Start a worker.");
}

/** @throws CommandFailure when there is no answer in time; OperatorError when no registry here serves the name */
export async function askOwner(
  context: OpenOperatorContext,
  question: NameQuestion,
  timeoutSeconds: number,
): Promise<OwnersAnswer> {
  const id = await askName(context, question);
  const answer =
    (await waitFor(context, timeoutSeconds, () => takeNameAnswer(context, id))) ??
    (await takeNameAnswer(context, id, true));
  if (!answer) {
    const advice = question.isPaced
      ? "Its sessions may be busy: these questions wait until they are idle. Try again, or give a longer --timeout."
      : "See whether the registry can be reached: deedhouse registry list";
    const why = `the worker has not answered about ${question.name} in ${timeoutSeconds} s`;
    throw new CommandFailure(why, exitCodes.stillGoing, advice);
  }
  if (answer.is === "not-served") throw new OperatorError("not-found", `${question.name}: ${answer.reason}`);
  return answer;
}
