/** Makes this server a node of the gateway that a token names, before the agent runs for the first time. */
import { createHash, generateKeyPairSync } from "node:crypto";
import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { Value } from "typebox/value";
import type { Clock } from "#lib/clock.ts";
import type { Secret } from "#lib/secret.ts";
import { agentVersion } from "#nodes/agent/agent-version.ts";
import { type AgentFile, findAgentFile, writeAgentFile } from "#nodes/agent/config.ts";
import { parseJoinToken } from "#nodes/agent/join-token.ts";
import { JoinAnswer, type JoinBody, joinPath } from "#nodes/agent/messages.ts";
import { publicKeyText, signedHeaders } from "#nodes/agent/request-signature.ts";
import { createTransport } from "#nodes/agent/transport.ts";

const answerMs = 15_000;
const answerBytesMax = 65_536;

export interface Joined {
  node: string;
  siteDomain: string;
}

const tokenDigestOf = (secret: Secret) => createHash("sha256").update(secret.reveal()).digest("hex");

/** Whether the server has already joined with this token. @throws Error when the text is not a token */
export async function hasJoinedWith(token: string, configPath: string): Promise<boolean> {
  const { url, pin, secret } = parseJoinToken(token);
  const file = await findAgentFile(configPath);
  if (!file) return false;
  if (file.tokenDigest !== undefined) return file.tokenDigest === tokenDigestOf(secret);
  // A release that did not store the token's digest wrote this file.
  return file.url === url && file.pin === pin;
}

/**
 * Creates the node's key, registers it with the gateway, and writes the agent's file. A server that has joined before remains
 * the same node.
 * @param token the output of `deedhouse node add` or `deedhouse node token`: valid for one server and 24 hours
 * @param configPath the agent's file, in an existing folder: `/etc/deedhouse/agent.json`
 * @throws Error that says what to do; then nothing was written
 */
export async function join(token: string, configPath: string, clock: Clock): Promise<Joined> {
  const { url, pin, secret } = parseJoinToken(token);
  // The token works once, so check for write access before using it up.
  await access(dirname(configPath), constants.W_OK);
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const former = await findAgentFile(configPath);
  const content: JoinBody = {
    secret: secret.reveal(),
    publicKey: publicKeyText(publicKey),
    agentVersion,
    ...(former && { node: former.node }),
  };
  const body = Buffer.from(JSON.stringify(content));
  // This request needs no counter: the token itself works only once.
  const request = { path: joinPath, node: "", counter: clock.now().getTime() };
  const headers = signedHeaders(request, body, privateKey);
  const transport = createTransport({ url, pin });
  try {
    const send = () =>
      transport.send({ path: joinPath, headers, body, answerBytesMax, signal: AbortSignal.timeout(answerMs) });
    // The answer may get lost: the gateway accepts the same token from the same key again.
    const { status, body: answer } = await send().catch(send);
    const { node, gatewayKey, siteDomain } = parseAnswer(status, answer, former?.node);
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const known = { node, url, pin, gatewayKey, siteDomain, tokenDigest: tokenDigestOf(secret) };
    await writeAgentFile(configPath, { ...known, privateKey: pem } satisfies AgentFile);
    return { node, siteDomain };
  } finally {
    transport.close();
  }
}

function parseAnswer(status: number, body: Buffer, formerNode: string | undefined): JoinAnswer {
  if (status === 401) {
    const isOther = formerNode === undefined ? "" : `, or is not for ${formerNode}, which this machine is`;
    const advice = `Create a new one: deedhouse node token ${formerNode ?? "<id>"}`;
    throw new Error(`The gateway does not accept the token: it was used, or has expired${isOther}. ${advice}`);
  }
  const answer: unknown = status === 200 ? JSON.parse(body.toString("utf8")) : undefined;
  if (!Value.Check(JoinAnswer, answer)) throw new Error(`The gateway answered ${status}: is its address right?`);
  return answer;
}
