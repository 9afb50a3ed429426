/** Makes a server a node: registers its public key for its join token. */
import { Compile } from "typebox/compile";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { SourceBudget } from "#front/rate-limit.ts";
import {
  AgentRefusal,
  type AgentRequest,
  type Claim,
  readClaim,
  recordRefusal,
  requireBudget,
} from "#hosting/channel/authenticate.ts";
import { parseBody } from "#hosting/channel/body.ts";
import type { GatewayKey } from "#hosting/channel/gateway-key.ts";
import { joinSecretHash } from "#hosting/channel/join-token.ts";
import { wakeUnplaced } from "#hosting/nodes/place.ts";
import { type JoinAnswer, JoinBody, unprovenBytesMax } from "#nodes/agent/messages.ts";
import { bodyDigest, isRequestSigned, parsePublicKey } from "#nodes/agent/request-signature.ts";

const joinForm = Compile(JoinBody);

// A new key has no counters yet, and its server is not known to hold any state.
const useToken = statement(
  "node-join",
  `UPDATE node_channels SET public_key = $public_key, agent_version = $agent_version,
     joined_at = $now, join_used_at = $now, last_seen_at = $now,
     sync_counter = 0, report_counter = 0, applied_version = -1, ahead_version = NULL, uid_highest = NULL
   WHERE join_secret_hash = $secret_hash AND join_until > $now AND join_used_at IS NULL
     AND node_id = coalesce($node_id, node_id)
   RETURNING node_id`,
  { node_id: "text" },
);
/** The server that used the token may repeat the request, because the answer may have been lost. */
const usedToken = statement(
  "node-joined",
  `SELECT node_id FROM node_channels
   WHERE join_secret_hash = $secret_hash AND join_until > $now AND public_key = $public_key`,
  { node_id: "text" },
);

/** @throws AgentRefusal; TooManyWaiting */
export async function acceptJoin(
  context: Context,
  gatewayKey: GatewayKey,
  budget: SourceBudget,
  request: AgentRequest,
): Promise<JoinAnswer> {
  requireBudget(budget, request);
  const body = await request.readBody(unprovenBytesMax);
  const content = parseBody(joinForm, body);
  // Only the database can verify the token, so the request counts as a guess until the database has answered.
  const node = await budget.guess(request.sourceAddress, async () => {
    requireBudget(budget, request);
    const isOwn = isOwnKey(readClaim(request), body, content.publicKey);
    const found = isOwn ? await registerKey(context, content) : undefined;
    if (found === undefined) budget.noteFailure(request.sourceAddress);
    return found;
  });
  if (node === undefined) {
    await recordRefusal(context, undefined, request, "a token that is unknown, used or expired");
    throw new AgentRefusal(401, "unauthorized");
  }
  context.log.info({ node, address: request.sourceAddress }, "a server has joined as a node");
  return { node, gatewayKey: gatewayKey.publicKey, siteDomain: context.siteDomain };
}

/** @returns the node's id; undefined when the token is not valid */
async function registerKey({ database, clock }: Context, content: JoinBody): Promise<string | undefined> {
  const { secret, publicKey, agentVersion, node = null } = content;
  const token = { secret_hash: joinSecretHash(secret), public_key: publicKey, now: clock.now() };
  const [joined] = await database.query(useToken, { ...token, agent_version: agentVersion, node_id: node });
  // The node has room for accounts from now on.
  if (joined) await wakeUnplaced(database);
  const [known] = joined ? [joined] : await database.query(usedToken, token);
  return known?.node_id;
}

/** Whether the caller has the private key of the public key that it registers. */
function isOwnKey(claimed: Claim | undefined, body: Buffer, publicKey: string): boolean {
  if (claimed?.node !== "") return false;
  try {
    const request = { ...claimed, digest: bodyDigest(body) };
    return isRequestSigned(request, claimed.signature, parsePublicKey(publicKey));
  } catch {
    return false;
  }
}
