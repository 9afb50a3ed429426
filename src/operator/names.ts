import type { Command } from "commander";
import { blockName, unblockName } from "#domains/block-list.ts";
import { cancelOrder } from "#domains/cancel.ts";
import { resumeCreatesPausedFor } from "#domains/pause.ts";
import { parseOrderCode } from "#lib/order-code.ts";
import { commandGroup, type OperatorOptions, operatorCommand, print } from "#operator/commands.ts";
import { openOperatorContext } from "#operator/context.ts";

const cancelProblems = {
  unknown: "there is no order with this code",
  ended: "the order has ended already, so there is nothing to cancel",
  "possibly-sent": "the order may have reached the registry already, so it cannot be cancelled any more",
};

export function addNameCommands(program: Command): void {
  const block = commandGroup(program, "block", "names that cannot be registered through the API");
  operatorCommand(block, "add <name>", "block a name, or a label under every suffix")
    .option("--reason <text>", "why, for the record", "blocked by the operator")
    .addHelpText("after", "\nExamples:\n  deedhouse block add bank.example\n  deedhouse block add bank")
    .action(async (text: string, options: OperatorOptions & { reason: string }) => {
      await using context = openOperatorContext(options.data);
      print(options, { name: await blockName(context, text, options.reason), status: "blocked" });
    });
  operatorCommand(block, "remove <name>", "let a name be registered again")
    .addHelpText("after", "\nExample:\n  deedhouse block remove bank.example")
    .action(async (text: string, options: OperatorOptions) => {
      await using context = openOperatorContext(options.data);
      if (!(await unblockName(context, text))) throw new Error(`${text} is not blocked`);
      print(options, { name: text, status: "not blocked" });
    });

  const orders = commandGroup(program, "orders", "registration orders");
  operatorCommand(orders, "cancel <code>", "cancel an order that has not reached the registry")
    .addHelpText("after", "\nExample:\n  deedhouse orders cancel REG-7K3M9QX2-4TD")
    .action(async (text: string, options: OperatorOptions) => {
      await using context = openOperatorContext(options.data);
      const code = parseOrderCode(text);
      const result = code === undefined ? "unknown" : await cancelOrder(context, code);
      if (result !== "cancelled") throw new Error(cancelProblems[result]);
      print(options, { order_code: text, status: "Cancelled" });
    });

  const registry = commandGroup(program, "registry", "the registries");
  operatorCommand(registry, "resume <id>", "take registrations again at a registry that was paused")
    .addHelpText("after", "\nExample:\n  deedhouse registry resume sandbox")
    .action(async (id: string, options: OperatorOptions) => {
      await using context = openOperatorContext(options.data);
      if (!(await resumeCreatesPausedFor(context, id, "any"))) throw new Error(`creates at ${id} are not paused`);
      print(options, { registry: id, status: "resumed" });
    });
}
