/** Commands that move accounts to other nodes. */
import type { Command } from "commander";
import { parseIdentifier } from "#hosting/accounts/find-account.ts";
import { endMove, findEmptying, getMove, listMoves, moveAllFrom } from "#hosting/moves/manage.ts";
import { startMove } from "#hosting/moves/move.ts";
import { setNode } from "#hosting/nodes/manage.ts";
import { limitOption, wholeNumber } from "#operator/arguments.ts";
import { asTable, commandGroup, onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { addTimeoutOption, waitFor } from "#operator/wait-for.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";
import { note, print, printFields, printTable } from "../../../client/cli/output.ts";

const graceHoursDefault = 24;
const graceHoursMax = 24 * 90;

interface WaitOptions {
  wait?: boolean;
  timeout: number;
}

interface MoveOptions extends WaitOptions {
  to?: string;
  graceHours: number;
}

export function addMoveCommands(program: Command): void {
  addMoveCommand(program);
  addDrainCommand(program);
  const moves = commandGroup(program, "moves", "accounts that move to other nodes");
  operatorCommand(moves, "list", "list the moves in progress, newest first")
    .option("--all", "include moves that have ended")
    .addOption(limitOption())
    .addHelpText("after", "\nExample:\n  deedhouse moves list")
    .action(
      onDatabase(
        (context, { all = false, limit }: { all?: boolean; limit: number }) => listMoves(context, { all, limit }),
        asTable(
          "identifier",
          "state",
          "from_node",
          "to_node",
          "files_done",
          "files_total",
          "bytes_done",
          "since",
          "next_step_at",
          "note",
          "reason",
        ),
      ),
    );
  const addEnd = (how: "cancel" | "finish", description: string) =>
    operatorCommand(moves, `${how} <identifier>`, description)
      .addHelpText("after", `\nExample:\n  deedhouse moves ${how} hello.example`)
      .action(
        onDatabase(async (context, text: string) =>
          getMove(context, await endMove(context, parseIdentifier(text), how)),
        ),
      );
  addEnd("cancel", "cancel a move before it has switched the account to its new node");
  addEnd("finish", "delete a moved account's files on its old node now, before its grace time ends");
}

function graceOption(command: Command): Command {
  return command.option(
    "--grace-hours <n>",
    "how long the old node continues to serve the site",
    wholeNumber(0, graceHoursMax),
    graceHoursDefault,
  );
}

function addMoveCommand(program: Command): void {
  const hosting = commandGroup(program, "hosting", "hosting accounts of all resellers");
  const command = operatorCommand(hosting, "move <identifier>", "move an account with its files to another node")
    .option("--to <node>", "the new node; default: the node with the most room")
    .option("--wait", "wait until the account is on its new node")
    .addHelpText(
      "after",
      "\nThe account stays usable while its files are copied. FTP is closed for the last part, until all files are read back" +
        "\nand compared. After that, the account shows its new node's FTP host. The old node serves the old site for the" +
        "\ngrace time: before it ends, the site's DNS must point to the new node." +
        "\n\nExample:\n  deedhouse operator hosting move hello.example --to web-8 --wait",
    );
  addTimeoutOption(graceOption(command), "with --wait").action(
    onDatabase(async (context, text: string, { to, graceHours, wait = false, timeout }: MoveOptions) => {
      const identifier = parseIdentifier(text);
      const { moveId } = await startMove(context, { identifier, to, graceSeconds: graceHours * 3_600 });
      return wait ? awaitSwitch(context, moveId, timeout) : getMove(context, moveId);
    }),
  );
}

async function awaitSwitch(context: OpenOperatorContext, moveId: number, timeout: number) {
  const ended = await waitFor(context, timeout, async () => {
    const move = await getMove(context, moveId);
    return move.switched_at || move.ended_at ? move : undefined;
  });
  if (ended?.switched_at) return ended;
  const { identifier, reason } = await getMove(context, moveId);
  if (!ended) {
    const advice = "The move continues: deedhouse moves list shows its progress.";
    throw new CommandFailure(`${identifier} has not moved yet`, exitCodes.stillGoing, advice);
  }
  throw new CommandFailure(`${identifier} stays where it was: ${reason}`, exitCodes.endedInFailure);
}

interface DrainOptions extends Omit<MoveOptions, "to"> {
  move?: boolean;
}

function addDrainCommand(program: Command): void {
  const nodes = commandGroup(program, "node", "hosting nodes");
  const command = operatorCommand(nodes, "drain <id>", "place no more accounts on a hosting node")
    .option("--move", "also move its accounts to other nodes; a repeat continues with the rest")
    .option("--wait", "with --move: wait until no account is left, and report progress")
    .addHelpText("after", "\nExample:\n  deedhouse node drain web-7 --move --wait");
  addTimeoutOption(graceOption(command), "with --wait").action(
    onDatabase(
      async (context, id: string, { move = false, wait = false, graceHours, timeout }: DrainOptions) => {
        await setNode(context, id, { isDraining: true });
        if (!move) return { node: id, status: "draining", staying: [] };
        const { moving, staying } = await moveAllFrom(context, id, graceHours * 3_600);
        if (wait) await awaitEmpty(context, id, timeout);
        return { node: id, status: "draining", moving, ...(await findEmptying(context, id)), staying };
      },
      ({ staying, ...fields }) => {
        printFields(fields);
        if (staying.length > 0) print("");
        printTable(staying, ["identifier", "reason"]);
      },
    ),
  );
}

/** Reports progress on stderr whenever it has changed. */
async function awaitEmpty(context: OpenOperatorContext, nodeId: string, timeout: number): Promise<void> {
  let reported = "";
  await waitFor(context, timeout, async () => {
    const { accounts, moves, files_done: files, bytes_done: bytes } = await findEmptying(context, nodeId);
    const line = `${accounts} accounts left, ${moves} moving: ${files} files, ${bytes} bytes copied`;
    if (line !== reported) note(line);
    reported = line;
    return moves === 0 ? true : undefined;
  });
}
