import type { Command } from "commander";
import { findMessage, finishMessage, listMessages } from "#domains/registry/messages.ts";
import { limitOption, printableText } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#operator-error.ts";

interface ListOptions {
  all?: boolean;
  registry?: string;
  limit: number;
}

/** Commands about the messages of registries. */
export function addMessageCommands(program: Command): void {
  const messages = commandGroup(program, "messages", "messages of the registries that a person has to read");
  operatorCommand(messages, "list", "list the messages that nobody has dealt with, the newest first")
    .option("--all", "also those that are done, or needed nobody")
    .option("--registry <id>", "only those of this registry")
    .addOption(limitOption())
    .addHelpText("after", "\nExample:\n  deedhouse messages list")
    .action(
      onDatabase(
        (context, { all = false, registry, limit }: ListOptions) =>
          listMessages(context, { all, registryId: registry, limit }),
        asTable("registry", "message_id", "received_at", "order_code", "done_at", "done_note"),
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
  operatorCommand(messages, "done <registry> <message-id>", "say that a message was dealt with, and end its alarm")
    .requiredOption("--note <text>", "how, for the record", printableText)
    .addHelpText("after", "\nExample:\n  deedhouse messages done sandbox 4711 --note 'transfer was ours, all is well'")
    .action(
      onDatabase(async (context, registryId: string, messageId: string, { note }: { note: string }) => {
        if (!(await finishMessage(context, registryId, messageId, note))) {
          const why =
            "no message of this registry and id waits for a person: deedhouse messages list shows those that do";
          throw new OperatorError("not-found", why);
        }
        return { registry: registryId, message_id: messageId, status: "done" };
      }),
    );
}
