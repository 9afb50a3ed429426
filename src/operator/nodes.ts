import type { Command } from "commander";
import { continueAfterRestore } from "#hosting/channel/restore.ts";
import { getNode, listNodes, removeNode } from "#hosting/nodes-manage.ts";
import { askReconcile, findResult } from "#hosting/reconcile.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { addNodeRowCommands, findNodeWithSettings, gigabyte } from "#operator/node-rows.ts";
import { addTokenCommand } from "#operator/node-token.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";
import { printFields, printTable } from "../../client/cli/output.ts";

export function addNodeCommands(program: Command): void {
  const nodes = commandGroup(program, "node", "hosting nodes: the machines that accounts are on").addHelpText(
    "after",
    "\nWithout a command: run an embedded hosting node alone; configured by environment variables (src/config.ts)" +
      "\nWith --agent: run the agent of a node of ProFTPD and nginx; has its own --help",
  );
  addNodeRowCommands(nodes);
  addListCommands(nodes);
  addTokenCommand(nodes);
  addMachineCommands(nodes);
  operatorCommand(nodes, "remove <id>", "forget a hosting node that holds no accounts; the machine is left as it is")
    .addHelpText("after", "\nExample:\n  deedhouse node remove web-7")
    .action(
      onDatabase(async (context, id: string) => {
        await removeNode(context, id);
        return { node: id, status: "removed" };
      }),
    );
}

function addMachineCommands(nodes: Command): void {
  const reconcile = operatorCommand(nodes, "reconcile <id>", "compare what a node has with what it shall have")
    .option("--repair", "bring accounts that are missing or different to what they shall be")
    .option("--remove-strays", "remove what is there without a reason, if its uid was given out here; a trash keeps it")
    .addHelpText(
      "after",
      "\nA worker asks the node. Exit code 1 when something is wrong. It is done every night too, and what it finds is an" +
        "\nalarm. An account that is missing is made again without its files: look for them first." +
        "\n\nExample:\n  deedhouse node reconcile web-7 --repair",
    );
  addTimeoutOption(reconcile, "for the worker").action(
    onDatabase(
      (context, id: string, options: ReconcileOptions) => compareNode(context, id, options),
      ({ findings, ...fields }) => {
        printFields(fields);
        if (findings.length > 0) process.stdout.write("\n");
        printTable(findings, ["kind", "identifier", "uid", "isOurs", "note"]);
      },
    ),
  );
  operatorCommand(
    nodes,
    "restored <id>",
    "after a backup was restored: tell the node this database's state, although it knew a later one",
  )
    .addHelpText("after", "\nSee docs/hosting.md first.\n\nExample:\n  deedhouse node restored web-7")
    .action(
      onDatabase(async (context, id: string) => ({ node: id, accounts_told: await continueAfterRestore(context, id) })),
    );
}

interface ReconcileOptions {
  repair?: boolean;
  removeStrays?: boolean;
  timeout: number;
}

async function compareNode(
  context: OpenOperatorContext,
  id: string,
  { repair = false, removeStrays = false, timeout }: ReconcileOptions,
) {
  await getNode(context, id);
  const wantedAt = await askReconcile(context, id, { repairs: repair, removesStrays: removeStrays });
  const result = await waitFor(context, timeout, () => findResult(context.database, id, wantedAt));
  if (result === undefined) {
    const advice = "Its answer will be in the alarms; see that a worker runs.";
    throw new CommandFailure(`the node ${id} is not compared yet`, exitCodes.stillGoing, advice);
  }
  if (typeof result === "string") throw new CommandFailure(`${id}: ${result}`, exitCodes.unavailable);
  const { counts, findings } = result;
  if (findings.length > 0) process.exitCode = exitCodes.unexpected;
  return { node: id, ...counts, ...(repair && { repairs: "enqueued" }), findings };
}

function addListCommands(nodes: Command): void {
  operatorCommand(nodes, "list", "list the hosting nodes with what they hold")
    .addHelpText(
      "after",
      "\nCommitted are the disk quotas of the accounts on a node and of those that move to it or leave it; used is" +
        "\nwhat they really use." +
        "\n\nExample:\n  deedhouse node list",
    )
    .action(
      onDatabase(
        (context) => listNodes(context),
        (rows) =>
          asTable(
            ...(["id", "kind", "state", "capacity", "committed", "used", "accounts", "moves"] as const),
            ...(["tags", "last_seen_at"] as const),
          )(
            rows.map(({ capacity_bytes, committed_bytes, used_bytes, accounts_count, accounts_max, ...row }) => ({
              ...row,
              capacity: gigabytes(capacity_bytes),
              committed: gigabytes(committed_bytes),
              used: gigabytes(used_bytes),
              accounts: `${accounts_count} of ${accounts_max}`,
            })),
          ),
      ),
    );
  operatorCommand(nodes, "show <id>", "show a hosting node")
    .addHelpText("after", "\nExample:\n  deedhouse node show web-7")
    .action(onDatabase((context, id: string) => findNodeWithSettings(context, id)));
}

const gigabytes = (bytes: number) => `${(bytes / gigabyte).toFixed(2)} GB`;
