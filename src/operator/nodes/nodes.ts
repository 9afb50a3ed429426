import type { Command } from "commander";
import type { NamedStray } from "#hosting/nodes/compare.ts";
import { describeRestored, goOnAfterRestore, type RestoredNode } from "#hosting/nodes/go-on-restored.ts";
import { getNode, listNodes, removeNode } from "#hosting/nodes/manage.ts";
import { askReconcile, findListed, findResult } from "#hosting/nodes/reconcile.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { addNodeRowCommands, findNodeWithSettings, gigabyte } from "#operator/nodes/rows.ts";
import { addTokenCommand } from "#operator/nodes/token.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { confirm } from "../../../client/cli/confirm.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { note, print, printFields, printTable } from "../../../client/cli/output.ts";

export function addNodeCommands(program: Command): void {
  const nodes = commandGroup(program, "node", "hosting nodes: the machines of hosting accounts").addHelpText(
    "after",
    "\nWithout a command: run an embedded hosting node alone; configured by environment variables (src/config.ts)" +
      "\nWith --agent: run the agent of a node of ProFTPD and nginx; has its own --help",
  );
  addNodeRowCommands(nodes);
  addListCommands(nodes);
  addTokenCommand(nodes);
  addMachineCommands(nodes);
  operatorCommand(
    nodes,
    "remove <id>",
    "remove a hosting node without accounts from the database; the machine stays unchanged",
  )
    .addHelpText("after", "\nExample:\n  deedhouse node remove web-7")
    .action(
      onDatabase(async (context, id: string) => {
        await removeNode(context, id);
        return { node: id, status: "removed" };
      }),
    );
}

function addMachineCommands(nodes: Command): void {
  const reconcile = operatorCommand(nodes, "reconcile <id> [strays...]", "compare a node's accounts with the database")
    .option("--repair", "repair accounts that are missing or different")
    .option("--remove-strays", "remove the named strays; a trash folder keeps their files")
    .option("--yes", "do not ask for confirmation")
    .addHelpText(
      "after",
      "\nA worker asks the node. Exit code 1 when something is wrong. The comparison also runs every night, and raises an" +
        "\nalarm. A missing account is created again without its files: look for them first." +
        "\n\nA stray is an account on the node that this database does not know, such as one created after the backup from" +
        "\nwhich the database was restored. Without names, strays are listed. Named strays are removed if the last list has" +
        "\nthem and they are still strays." +
        "\n\nExamples:\n  deedhouse node reconcile web-7 --repair" +
        "\n  deedhouse node reconcile web-7 --remove-strays old.example lost.example --yes",
    );
  addTimeoutOption(reconcile, "for the worker").action(
    onDatabase(
      (context, id: string, strays: string[], options: ReconcileOptions) => compareNode(context, id, strays, options),
      ({ findings, ...fields }) => {
        printFields(fields);
        if (findings.length > 0) print("");
        printTable(findings, ["kind", "identifier", "uid", "isOurs", "isRemoved", "note"]);
      },
    ),
  );
  operatorCommand(nodes, "restored <id>", "continue with a restored database on a node")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      "\nA node that is ahead of this database raises an alarm, and nothing is removed there. This command shows what" +
        "\nwill be done, asks for confirmation and ends that state: pending removals are carried out, and a node with an agent receives" +
        "\neverything in this database again, so changes after the backup are undone. Accounts that were created after" +
        "\nthe backup stay on the node as strays: see deedhouse node reconcile. docs/operating.md explains what to do first." +
        "\n\nExample:\n  deedhouse node restored web-7",
    )
    .action(
      onDatabase(async (context, id: string, { yes = false }: { yes?: boolean }) => {
        const described = await describeRestored(context, id);
        if (!yes) {
          note(`${whatWillBeDone(id, described)}`);
          await confirm("Go on?");
        }
        const { accountsResent } = await goOnAfterRestore(context, id);
        return { node: id, removals_go_on: described.removals, accounts_told: accountsResent };
      }),
    );
}

const namedMax = 20;

function whatWillBeDone(id: string, { since, removals, accountsToResend }: RestoredNode): string {
  const shown = removals.slice(0, namedMax).join(", ");
  const more = removals.length > namedMax ? ` and ${removals.length - namedMax} more` : "";
  const removed =
    removals.length === 0 ? "Nothing is waiting to be removed there." : `Will be removed there: ${shown}${more}.`;
  const changed = accountsToResend === 0 ? "" : ` Will be sent again from this database: ${accountsToResend} accounts.`;
  return `${id} has been ahead of this database since ${since.toISOString()}. ${removed}${changed}`;
}

interface ReconcileOptions {
  repair?: boolean;
  removeStrays?: boolean;
  yes?: boolean;
  timeout: number;
}

async function compareNode(
  context: OpenOperatorContext,
  id: string,
  strays: string[],
  { repair = false, removeStrays = false, yes = false, timeout }: ReconcileOptions,
) {
  await getNode(context, id);
  if (strays.length > 0 && !removeStrays) {
    throw new CommandFailure("names are for removing strays: add --remove-strays", exitCodes.usage);
  }
  const removes = await findNamed(context, id, strays);
  if (removes.length > 0 && !yes) {
    const named = removes.map(({ identifier, uid }) => `${identifier} (uid ${uid})`).join(", ");
    await confirm(`Remove these accounts with their files from ${id}, into its trash folder if it has one: ${named}?`);
  }
  const wantedAt = await askReconcile(context, id, { repairs: repair, removes });
  const result = await waitFor(context, timeout, () => findResult(context.database, id, wantedAt));
  if (result === undefined) {
    const advice = "Its answer will appear in the alarms; make sure that a worker is running.";
    throw new CommandFailure(`the node ${id} has not been compared yet`, exitCodes.stillGoing, advice);
  }
  if (typeof result === "string") throw new CommandFailure(`${id}: ${result}`, exitCodes.unavailable);
  const { counts, findings } = result;
  if (findings.some(({ isRemoved }) => !isRemoved)) process.exitCode = exitCodes.unexpected;
  return { node: id, ...counts, ...(repair && { repairs: "enqueued" }), findings };
}

/** The strays with these names in the last comparison's list. @throws CommandFailure for a name that is not in it */
async function findNamed(context: OpenOperatorContext, id: string, names: readonly string[]): Promise<NamedStray[]> {
  if (names.length === 0) return [];
  const listed = (await findListed(context.database, id)).filter(({ kind }) => kind === "stray");
  return names.map((name) => {
    const stray = listed.find(({ identifier }) => identifier === name);
    if (stray) return { identifier: stray.identifier, uid: stray.uid };
    const advice = `deedhouse node reconcile ${id} lists them.`;
    throw new CommandFailure(
      `${name} was not a stray of ${id} in the last comparison`,
      exitCodes.refused,
      `Nothing was removed; ${advice}`,
    );
  });
}

function addListCommands(nodes: Command): void {
  operatorCommand(nodes, "list", "list the hosting nodes with their contents")
    .addHelpText(
      "after",
      "\nCommitted is the sum of the disk quotas of the accounts on a node and of those that move to it or leave it;" +
        "\nused is their actual disk usage." +
        "\n\nExample:\n  deedhouse node list",
    )
    .action(
      onDatabase(
        (context) => listNodes(context),
        (rows) =>
          asTable(
            "id",
            "kind",
            "state",
            "capacity",
            "committed",
            "used",
            "accounts",
            "moves",
            "tags",
            "last_seen_at",
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
