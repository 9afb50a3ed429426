import type { Command } from "commander";
import {
  type DoneMessages,
  findMessage,
  finishMessages,
  listMessages,
  type MessageFilter,
} from "#domains/messages/messages.ts";
import { limitOption, printableText } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { OperatorError } from "#operator-error.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";

interface ListOptions {
  all?: boolean;
  registry?: string;
  kind?: string;
  after?: string;
  limit: number;
}

interface DoneOptions {
  kind?: string;
  note: string;
}

const listed = [
  "registry",
  "message_id",
  "received_at",
  "kind",
  "outcome",
  "domain_name",
  "order_code",
  "text",
  "done_at",
  "done_note",
];

/** Commands for the messages of registries. */
export function addMessageCommands(program: Command): void {
  const messages = commandGroup(program, "messages", "registry messages that need an operator");
  operatorCommand(messages, "list", "list the messages that still need an operator, newest first")
    .option("--all", "include messages that are done or needed no operator")
    .option("--registry <id>", "only this registry's")
    .option("--kind <kind>", "only of this kind, as the list and the alarms name it")
    .option(
      "--after <registry/message-id>",
      "the next page: only messages before this one, the last of the previous page",
    )
    .addOption(limitOption())
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse messages list\n  deedhouse messages list --all --limit 100 --after sandbox/4711 --json",
    )
    .action(
      onDatabase(
        async (context, { all = false, registry, kind, after, limit }: ListOptions) => {
          const place = after === undefined ? undefined : await findPlace(context, after);
          return listMessages(context, { all, registryId: registry, kind, after: place, limit });
        },
        asTable(...listed),
      ),
    );
  operatorCommand(messages, "show <registry> <message-id>", "show a message as the registry sent it")
    .addHelpText("after", "\nExample:\n  deedhouse messages show sandbox 4711")
    .action(
      onDatabase(async (context, registryId: string, messageId: string) => {
        const message = await findMessage(context, registryId, messageId);
        if (!message) throw new OperatorError("not-found", `there is no message ${messageId} of ${registryId}`);
        return message;
      }),
    );
  operatorCommand(
    messages,
    "done <registry> [message-id]",
    "mark a message as done, or all of a kind, and resolve the alarm",
  )
    .option("--kind <kind>", "all messages of this kind, instead of one")
    .requiredOption("--note <text>", "what was done, for the record", printableText)
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse messages done sandbox 4711 --note 'transfer was ours, all is well'\n  deedhouse messages done sandbox --kind notice --note 'newsletters, a rule keeps them now'",
    )
    .action(
      onDatabase(async (context, registryId: string, messageId: string | undefined, { kind, note }: DoneOptions) => {
        const which = chosen(messageId, kind);
        const done: DoneMessages = { registryId, note, ...which };
        const count = await finishMessages(context, done);
        if (count > 0)
          return {
            registry: registryId,
            ...("kind" in which ? { kind } : { message_id: messageId }),
            status: "done",
            messages: count,
          };
        const why = `no message with this registry and ${"kind" in which ? "kind" : "id"} needs an operator: deedhouse messages list lists those that do`;
        throw new OperatorError("not-found", why);
      }),
    );
}

function chosen(messageId: string | undefined, kind: string | undefined): { messageId: string } | { kind: string } {
  if (messageId !== undefined && kind === undefined) return { messageId };
  if (messageId === undefined && kind !== undefined) return { kind };
  throw new CommandFailure("give either a message's id or --kind", exitCodes.usage);
}

/** A registry's id has no slash; a message's may. */
async function findPlace(context: OpenOperatorContext, after: string): Promise<MessageFilter["after"]> {
  const slash = after.indexOf("/");
  const message = slash < 0 ? undefined : await findMessage(context, after.slice(0, slash), after.slice(slash + 1));
  if (!message)
    throw new OperatorError("not-found", `there is no message ${after}: give its registry and id, as in sandbox/4711`);
  return message;
}
