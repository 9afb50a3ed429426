import type { Command } from "commander";
import { blockName, unblockName } from "#domains/block-list.ts";
import { cancelOrder } from "#domains/cancel.ts";
import { resumeCreatesPausedFor } from "#domains/pause.ts";
import { parseOrderCode } from "#lib/order-code.ts";
import { commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import { OperatorError } from "#resellers/operator-error.ts";

const cancelProblems = {
  unknown: () => new OperatorError("not-found", "there is no order with this code"),
  ended: () => new OperatorError("refused", "the order has ended already, so there is nothing to cancel"),
};

export function addNameCommands(program: Command): void {
  addBlockCommands(commandGroup(program, "block", "names that cannot be registered through the API"));

  const orders = commandGroup(program, "orders", "registration orders");
  operatorCommand(orders, "cancel <code>", "cancel an order, and undo what it has done as long as that is free")
    .addHelpText("after", "\nExample:\n  deedhouse orders cancel REG-7K3M9QX2-4TD")
    .action(
      onDatabase(async (context, text: string) => {
        const code = parseOrderCode(text);
        const result = code === undefined ? "unknown" : await cancelOrder(context, code);
        if (result !== "cancelled" && result !== "cancelling") throw cancelProblems[result]();
        return { order_code: text, status: result === "cancelled" ? "Cancelled" : "being cancelled" };
      }),
    );

  const registry = commandGroup(program, "registry", "the registries");
  operatorCommand(registry, "resume <id>", "take registrations again at a registry that was paused")
    .addHelpText("after", "\nExample:\n  deedhouse registry resume sandbox")
    .action(
      onDatabase(async (context, id: string) => {
        if (!(await resumeCreatesPausedFor(context, id, "any"))) {
          throw new OperatorError("not-found", `creates at ${id} are not paused`);
        }
        return { registry: id, status: "resumed" };
      }),
    );
}

function addBlockCommands(block: Command): void {
  operatorCommand(block, "add <name>", "block a name, or a label under every suffix")
    .option("--reason <text>", "why, for the record", "blocked by the operator")
    .addHelpText("after", "\nExamples:\n  deedhouse block add bank.example\n  deedhouse block add bank")
    .action(
      onDatabase(async (context, text: string, { reason }: { reason: string }) => {
        return { name: await blockName(context, text, reason), status: "blocked" };
      }),
    );
  operatorCommand(block, "remove <name>", "let a name be registered again")
    .addHelpText("after", "\nExample:\n  deedhouse block remove bank.example")
    .action(
      onDatabase(async (context, text: string) => {
        if (!(await unblockName(context, text))) throw new OperatorError("not-found", `${text} is not blocked`);
        return { name: text, status: "not blocked" };
      }),
    );
}
