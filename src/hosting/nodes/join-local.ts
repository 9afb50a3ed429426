/** Makes a node on the gateway's own machine its node, without an operator: the one of `deedhouse start`. */
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { statement } from "#db/statement.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { hostInUrl, nearAddress } from "#lib/net/near-address.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { findAgentFile, writeAgentFile } from "#nodes/agent/config.ts";
import { join } from "#nodes/agent/join.ts";
import { publicKeyText } from "#nodes/agent/request-signature.ts";
import { type GatewayAddress, pinOf } from "#nodes/agent/transport.ts";
import type { OperatorContext } from "#resellers/create.ts";

const readJoinedKey = statement(
  "local-node-key",
  `SELECT channel.public_key, gateway.public_key AS gateway_key
   FROM node_channels AS channel CROSS JOIN node_gateway AS gateway WHERE node_id = $node_id`,
  { public_key: "text?", gateway_key: "text" },
);

export interface JoinLocalOptions {
  nodeId: string;
  /** The agent's file, in the node's data folder. */
  agentFile: string;
  /** The address on which the endpoint for agents listens. */
  host: string;
  port: number;
  tls: TlsPair | undefined;
}

/**
 * A node that has joined keeps its key, so its agent continues where it stopped; only the gateway's address may be another
 * one than at the last start.
 * @throws Error that says what to do
 */
export async function joinLocalNode(context: OperatorContext, options: JoinLocalOptions): Promise<void> {
  const { nodeId, agentFile } = options;
  const address = addressOf(options);
  const file = await findAgentFile(agentFile);
  const [joined] = await context.database.query(readJoinedKey, { node_id: nodeId });
  const isJoined =
    file?.node === nodeId &&
    file.gatewayKey === joined?.gateway_key &&
    publicKeyText(createPublicKey(createPrivateKey(file.privateKey))) === joined.public_key;
  if (isJoined) return writeAgentFile(agentFile, { ...file, ...address });
  const token = await createJoinToken(context, nodeId, address);
  await join(token.reveal(), agentFile, context.clock);
}

function addressOf({ host, port, tls }: JoinLocalOptions): GatewayAddress {
  const url = `${tls ? "https" : "http"}://${hostInUrl(nearAddress(host))}:${port}`;
  return { url, pin: tls ? pinOf(new X509Certificate(tls.certificate)) : null };
}
