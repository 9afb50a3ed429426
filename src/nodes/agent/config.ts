/** The agent's configuration file, which only root can read. It is written when the server joins its gateway. */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { parsePublicKey } from "#nodes/agent/request-signature.ts";
import type { GatewayAddress } from "#nodes/agent/transport.ts";
import { ignoreMissing, writeFileAtomic } from "#nodes/atomic-file.ts";

const AgentFile = Type.Object({
  node: Type.String({ minLength: 1 }),
  url: Type.String({ minLength: 1 }),
  pin: Type.Union([Type.String(), Type.Null()]),
  /** Signs this node's desired state. */
  gatewayKey: Type.String({ minLength: 1 }),
  /** PEM (PKCS #8): signs this node's requests. */
  privateKey: Type.String({ minLength: 1 }),
  siteDomain: Type.String({ minLength: 1 }),
  /** SHA-256 of the secret of the token that the server joined with, hexadecimal. */
  tokenDigest: Type.Optional(Type.String()),
});
export type AgentFile = Static<typeof AgentFile>;

export interface AgentConfig {
  node: string;
  gateway: GatewayAddress;
  gatewayKey: KeyObject;
  privateKey: KeyObject;
  /** Sites answer at `<identifier>.<siteDomain>`. */
  siteDomain: string;
}

/** Mode 0600. */
export async function writeAgentFile(path: string, file: AgentFile): Promise<void> {
  await writeFileAtomic(path, `${JSON.stringify(file, null, 2)}\n`);
}

/** Undefined when the file is missing or invalid. */
export async function findAgentFile(path: string): Promise<AgentFile | undefined> {
  const text = await readFile(path, "utf8").catch(ignoreMissing);
  try {
    return text === undefined ? undefined : parseAgentFile(text);
  } catch {
    return undefined;
  }
}

function parseAgentFile(text: string): AgentFile {
  const file: unknown = JSON.parse(text);
  if (!Value.Check(AgentFile, file)) throw new Error("a field is missing");
  return file;
}

/** @throws Error that says what to do */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new Error(`${error.message}: join the gateway first, with deedhouse node install --token-file <file>`);
  });
  try {
    const file = parseAgentFile(text);
    return {
      node: file.node,
      gateway: { url: file.url, pin: file.pin },
      gatewayKey: parsePublicKey(file.gatewayKey),
      privateKey: createPrivateKey(file.privateKey),
      siteDomain: file.siteDomain,
    };
  } catch (error) {
    // A parser's message may quote the file, which contains a private key.
    const reason = error instanceof SyntaxError ? "it is not JSON" : (error as Error).message;
    throw new Error(`${path} cannot be used (${reason}): join the gateway again with a new token`);
  }
}
