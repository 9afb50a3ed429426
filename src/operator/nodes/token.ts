/** `deedhouse node token`: what makes a machine the node. */
import type { Command } from "commander";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { onDatabase, operatorCommand } from "#operator/command.ts";
import type { OpenOperatorContext } from "#operator/context.ts";
import { OperatorError } from "#operator-error.ts";

export function addTokenCommand(nodes: Command): void {
  operatorCommand(nodes, "token <id>", "make a token with which one machine becomes the node, within 24 hours")
    .addHelpText(
      "after",
      "\nTokens that were made for it before are worth nothing. The machine that is the node already needs one when the" +
        "\ngateway has another address or TLS key." +
        "\n\nExample:\n  deedhouse node token web-7",
    )
    .action(onDatabase((context, id: string) => makeToken(context, id)));
}

/** What its machine needs to become the node, or what has to be done before there can be a token. */
export async function findToken(context: OpenOperatorContext, id: string) {
  try {
    return await makeToken(context, id);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { next: `${error.message}; then deedhouse node token ${id}` };
  }
}

/** @throws OperatorError */
async function makeToken(context: OpenOperatorContext, id: string) {
  const token = (await createJoinToken(context, id)).reveal();
  const next = "on its machine, within 24 hours: deedhouse node install --token-file -, and the token as its input";
  return { node: id, token, next };
}
