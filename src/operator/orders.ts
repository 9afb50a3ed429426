import { type Command, Option } from "commander";
import { cancelOrder, findSettlement, getOrder, retryOrder, settleOrder } from "#domains/orders/operate.ts";
import { listOrders, reportOrder } from "#domains/orders/show.ts";
import { isFinal, type OrderStatus, orderStatuses } from "#domains/orders/states.ts";
import { limitOption, orderCode, printableText } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand, type Printable } from "#operator/command.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { OperatorError } from "#operator-error.ts";
import { getReseller } from "#resellers/create.ts";
import { statusOption } from "../../client/cli/arguments.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";
import { print, printFields, printTable } from "../../client/cli/output.ts";

export function addOrderCommands(program: Command): void {
  const orders = commandGroup(
    program,
    "orders",
    "orders of all accounts: registrations, and orders about registered names",
  );
  addListCommand(orders);
  operatorCommand(orders, "show", "show everything about an order, and what happens next")
    .argument("<code>", "the order code from the API", orderCode)
    .addHelpText("after", "\nExample:\n  deedhouse operator orders show REG-7K3M9QX2-4TD")
    .action(onDatabase((context, code: string) => reportOrder(context, code), printOrder));
  addCancelCommand(orders);
  addSettleCommand(orders);
  operatorCommand(orders, "retry", "take an order's next step now, without waiting for its delay")
    .argument("<code>", "the order code from the API", orderCode)
    .addHelpText("after", "\nExample:\n  deedhouse operator orders retry REG-7K3M9QX2-4TD")
    .action(
      onDatabase(async (context, code: string) => {
        await retryOrder(context, code);
        return { order_code: code, next_step: "now" };
      }),
    );
}

interface ListOptions {
  attention?: boolean;
  status?: OrderStatus;
  reseller?: string;
  limit: number;
}

function addListCommand(orders: Command): void {
  operatorCommand(orders, "list", "list orders, newest first")
    .option("--attention", "only orders that need an operator, the longest waiting first")
    .addOption(statusOption("only orders in this status", orderStatuses))
    .option("--reseller <account>", "only this account's")
    .addOption(limitOption())
    .addHelpText(
      "after",
      "\nExamples:\n  deedhouse operator orders list --attention\n  deedhouse operator orders list --status Pending --reseller acme",
    )
    .action(
      onDatabase(
        async (context, { attention = false, status, reseller, limit }: ListOptions) => {
          const resellerId = reseller === undefined ? undefined : await getReseller(context, reseller);
          return listOrders(context, { attention, status, resellerId, limit });
        },
        asTable(
          "order_code",
          "kind",
          "domain_name",
          "reseller",
          "status",
          "phase",
          "created_at",
          "needs_operator_since",
          "note",
        ),
      ),
    );
}

function printOrder({ history, attempts, ...order }: Printable<Awaited<ReturnType<typeof reportOrder>>>): void {
  printFields(order);
  print("");
  printTable(history, ["at", "event", "status", "phase", "note"]);
  if (attempts.length === 0) return;
  print("");
  printTable(attempts, ["cl_trid", "command", "committed_at", "answered_at", "result_code", "sv_trid"]);
}

interface WaitOptions {
  wait?: boolean;
  timeout: number;
}

function addCancelCommand(orders: Command): void {
  const cancel = operatorCommand(orders, "cancel", "cancel an order")
    .argument("<code>", "the order code from the API", orderCode)
    .option("--wait", "wait until it has ended: exit code 6 if it could no longer be cancelled")
    .addHelpText(
      "after",
      "\nAn order that may have reached the registry is resolved first. If the registry then holds the name for us, it is deleted" +
        "\nwithin its add grace period; after that it is kept, and the order is Finished." +
        "\n\nExample:\n  deedhouse operator orders cancel REG-7K3M9QX2-4TD --wait",
    );
  addTimeoutOption(cancel, "with --wait").action(
    onDatabase(async (context, code: string, { wait = false, timeout }: WaitOptions) => {
      const order = await cancelOrder(context, code);
      if (order.status === "Cancelled") return { order_code: code, status: "Cancelled" };
      if (!wait) return { order_code: code, status: "being cancelled" };
      const status = await waitFor(context, timeout, async () => {
        const { status } = await getOrder(context, code);
        return isFinal(status) ? status : undefined;
      });
      if (status === undefined) throw stillGoing(code, "being cancelled");
      if (status === "Cancelled") return { order_code: code, status };
      throw new CommandFailure(
        `the order could no longer be cancelled: it ended as ${status}`,
        exitCodes.endedInFailure,
        `See why: deedhouse operator orders show ${code}`,
      );
    }),
  );
}

interface SettleOptions {
  as: "registered" | "done" | "failed";
  note: string;
  force?: boolean;
  timeout: number;
}

function addSettleCommand(orders: Command): void {
  const settle = operatorCommand(orders, "settle", "settle an order when the registry's answers do not decide it")
    .argument("<code>", "the order code from the API", orderCode)
    .addOption(new Option("--as <end>", "its outcome").choices(["registered", "done", "failed"]).makeOptionMandatory())
    .requiredOption("--note <text>", "the reason, for the order's history", printableText)
    .option("--force", "with --as failed: even if the registry holds the name for us, or cannot be asked")
    .addHelpText(
      "after",
      "\nThe registry is asked first. A registration can be settled as registered only if the registry holds the name for us and" +
        "\nno other order or customer has it; as failed only if the registry does not hold it for us. With --force it" +
        "\nfails anyway, and the operator is responsible for the name: the gateway will neither renew nor delete it." +
        "\nAn order about a registered name is settled as done or as failed; if the registry shows what was ordered, it is done." +
        "\n\nExample:\n  deedhouse operator orders settle REG-7K3M9QX2-4TD --as registered --note 'entered by the registry on request'",
    );
  addTimeoutOption(settle, "for the order's step").action(
    onDatabase(async (context, code: string, { as, note, force = false, timeout }: SettleOptions) => {
      const isRegistration = code.startsWith("REG-");
      if (as === (isRegistration ? "done" : "registered")) {
        const ends = isRegistration ? "registered or failed" : "done or failed";
        throw new CommandFailure(`this order is settled as ${ends}`, exitCodes.usage);
      }
      if (force && as === "registered") {
        throw new CommandFailure(
          "only --as failed can be forced: a name that is not registered cannot be sold",
          exitCodes.usage,
        );
      }
      const settlement = { as: as === "failed" ? as : "done", note, isForced: force && isRegistration } as const;
      const id = await settleOrder(context, code, settlement);
      const settled = await waitFor(context, timeout, () => findSettlement(context, id));
      if (!settled) throw stillGoing(code, "waiting for its step, which will settle it");
      if ("status" in settled) return { order_code: code, status: settled.status };
      throw new OperatorError("refused", `the order was not settled: ${settled.refusal}`);
    }),
  );
}

function stillGoing(code: string, what: string): CommandFailure {
  const advice = `Nothing is lost. To see its state: deedhouse operator orders show ${code}`;
  return new CommandFailure(`the order is still ${what}`, exitCodes.stillGoing, advice);
}
