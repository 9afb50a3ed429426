/** One-time tokens, which make a machine a node. */
import { createHash } from "node:crypto";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import { formatJoinToken } from "#nodes/agent/join-token.ts";
import type { GatewayAddress } from "#nodes/agent/transport.ts";
import { OperatorError } from "#operator-error.ts";

const secretBytes = 32;
const validMs = 24 * 60 * 60_000;

const readEndpoint = statement("node-gateway-where", "SELECT door_url, door_pin FROM node_gateway WHERE id = 1", {
  door_url: "text?",
  door_pin: "text?",
});
// The machine that has joined stays the node until another one uses the token.
const writeToken = statement(
  "node-join-token",
  `INSERT INTO node_channels (node_id, join_secret_hash, join_until)
   SELECT id, $secret_hash, $expires_at FROM hosting_nodes WHERE id = $node_id
   ON CONFLICT (node_id) DO UPDATE SET join_secret_hash = EXCLUDED.join_secret_hash, join_until = EXCLUDED.join_until,
     join_used_at = NULL
   RETURNING node_id`,
  { node_id: "text" },
);

export const joinSecretHash = (secret: string) => createHash("sha256").update(secret).digest();

/**
 * Creates a token that makes one machine this node within 24 hours. It replaces the node's earlier tokens.
 * @param address where the machine finds the gateway. Default: at the announced endpoint
 * @throws OperatorError when there is no such node, or no endpoint for agents has ever been started
 */
export async function createJoinToken(
  context: Pick<Context, "database" | "random" | "clock" | "sealer">,
  nodeId: string,
  address?: GatewayAddress,
): Promise<Secret> {
  const { database, random, clock } = context;
  const { url, pin } = address ?? (await announcedEndpoint(context));
  const secret = new Secret(random.bytes(secretBytes).toString("base64url"));
  const expires_at = new Date(clock.now().getTime() + validMs);
  const secret_hash = joinSecretHash(secret.reveal());
  const [written] = await database.query(writeToken, { node_id: nodeId, secret_hash, expires_at });
  if (!written) throw new OperatorError("not-found", `there is no node ${nodeId}`);
  return formatJoinToken({ url, pin, secret });
}

async function announcedEndpoint({ database }: Pick<Context, "database">): Promise<GatewayAddress> {
  const [endpoint] = await database.query(readEndpoint, {});
  if (endpoint?.door_url) return { url: endpoint.door_url, pin: endpoint.door_pin };
  throw new OperatorError(
    "refused",
    "nodes cannot reach this gateway yet: set DEEDHOUSE_NODES_PORT and start the api (docs/hosting.md)",
  );
}
