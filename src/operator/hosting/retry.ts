import type { Command } from "commander";
import { findProgress } from "#hosting/accounts/report.ts";
import { retryAccount, retryNode } from "#hosting/wake.ts";
import { commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

export function addHostingRetryCommand(program: Command): void {
  operatorCommand(
    commandGroup(program, "hosting", "hosting accounts of all resellers"),
    "retry [identifier]",
    "retry an account's pending change now, without waiting for its delay",
  )
    .option("--node <id>", "all accounts and moves that wait for this node, up to 1000 of each")
    .addHelpText(
      "after",
      "\nWhen a node answers again after an outage, its accounts are retried automatically." +
        "\n\nExamples:\n  deedhouse operator hosting retry hello.example\n  deedhouse operator hosting retry --node web-7",
    )
    .action(onDatabase(retry));
}

async function retry(context: OpenOperatorContext, identifier: string | undefined, { node }: { node?: string }) {
  if ((identifier === undefined) === (node === undefined)) {
    throw new CommandFailure("give either an identifier or --node with a node's id", exitCodes.usage);
  }
  if (node !== undefined) return { node, ...(await retryNode(context, node)), next_step: "now" };
  const account = await retryAccount(context, identifier ?? "");
  const { status, changes_pending } = await findProgress(context, account.id);
  return { identifier: account.identifier, status, changes_pending, next_step: "now" };
}
