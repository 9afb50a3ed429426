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

/** Commands for the messages of registries. */
export function addMessageCommands(program: Command): void {
  const messages = commandGroup(program, "messages", "registry messages that need an operator");
  operatorCommand(messages, "list", "list the messages that still need an operator, newest first")
    .option("--all", "include messages that are done or needed nobody")
    .option("--registry <id>", "only this registry's")
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
  operatorCommand(messages, "done <registry> <message-id>", "mark a message as done, and resolve its alarm")
    .requiredOption("--note <text>", "what was done, for the record", printableText)
    .addHelpText("after", "\nExample:\n  deedhouse messages done sandbox 4711 --note 'transfer was ours, all is well'")
    .action(
      onDatabase(async (context, registryId: string, messageId: string, { note }: { note: string }) => {
        if (!(await finishMessage(context, registryId, messageId, note))) {
          const why =
            "no message with this registry and id needs an operator: deedhouse messages list lists those that do";
          throw new OperatorError("not-found", why);
        }
        return { registry: registryId, message_id: messageId, status: "done" };
      }),
    );
}
