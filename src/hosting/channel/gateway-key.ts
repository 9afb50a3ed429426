/** The key that signs the desired states of all nodes: created once, and shared by all processes of the gateway. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import { publicKeyText } from "#nodes/agent/request-signature.ts";

const sealedRow = "node_gateway.private_key/1";

const insertKey = statement(
  "node-gateway-insert",
  "INSERT INTO node_gateway (id, public_key, private_key_sealed) VALUES (1, $public_key, $private_key_sealed) ON CONFLICT (id) DO NOTHING",
  {},
);
const readKey = statement("node-gateway-key", "SELECT public_key, private_key_sealed FROM node_gateway WHERE id = 1", {
  public_key: "text",
  private_key_sealed: "bytea",
});
const writeEndpoint = statement(
  "node-gateway-endpoint",
  "UPDATE node_gateway SET door_url = $url, door_pin = $pin WHERE id = 1",
  {},
);

export interface GatewayKey {
  privateKey: KeyObject;
  /** `publicKeyText` */
  publicKey: string;
}

type KeyContext = Pick<Context, "database" | "sealer">;

export async function loadGatewayKey({ database, sealer }: KeyContext): Promise<GatewayKey> {
  let [row] = await database.query(readKey, {});
  if (!row) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = new Secret(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    const private_key_sealed = sealer.seal(sealedRow, pem);
    await database.query(insertKey, { public_key: publicKeyText(publicKey), private_key_sealed });
    // Another process may have inserted a key first.
    [row] = await database.query(readKey, {});
  }
  const pem = sealer.open(sealedRow, row!.private_key_sealed);
  return { privateKey: createPrivateKey(pem.reveal()), publicKey: row!.public_key };
}

/** Stores the address of this gateway for the join tokens that are created from now on. */
export async function announceEndpoint({ database }: KeyContext, url: string, pin: string | null): Promise<void> {
  await database.query(writeEndpoint, { url, pin });
}
