/** `deedhouse node token`: makes the token that turns a server into a node. */
import type { Command } from "commander";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { OperatorError } from "#operator-error.ts";

export function addTokenCommand(nodes: Command): void {
  operatorCommand(nodes, "token <id>", "make a token that turns one machine into this node, within 24 hours")
    .addHelpText(
      "after",
      "\nIt replaces the node's earlier tokens. The machine that already is the node needs a new one when the" +
        "\ngateway's address or TLS key changes." +
        "\n\nExample:\n  deedhouse node token web-7",
    )
    .action(onDatabase((context, id: string) => makeToken(context, id)));
}

/** The token for its server, or what must be done before there can be one. */
export async function findToken(context: OpenOperatorContext, id: string) {
  try {
    return await makeToken(context, id);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { next: `${error.message}; then deedhouse node token ${id}` };
  }
}

const machineNext =
  "on its machine, within 24 hours: deedhouse node install --token-file -, with the token as its input";
const embeddedNext =
  "on its machine, within 24 hours: deedhouse node, with DEEDHOUSE_NODE_TOKEN_FILE naming a file that contains the token";

/** @throws OperatorError */
async function makeToken(context: OpenOperatorContext, id: string) {
  const token = (await createJoinToken(context, id)).reveal();
  const { kind } = await getNode(context, id);
  return { node: id, token, next: kind === "embedded" ? embeddedNext : machineNext };
}
