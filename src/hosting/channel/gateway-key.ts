/** The key that signs every node's desired state: made once, the same for all of the gateway's processes. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { Secret } from "#lib/secret.ts";
import { publicKeyText } from "#nodes/agent/request-signature.ts";

const sealedRow = "node_gateway.private_key/1";

const insertKey = statement(
  "node-gateway-insert",
  "INSERT INTO node_gateway (id, public_key, private_key_sealed) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING",
  {},
);
const readKey = statement("node-gateway-key", "SELECT public_key, private_key_sealed FROM node_gateway WHERE id = 1", {
  public_key: "text",
  private_key_sealed: "bytea",
});
const writeEndpoint = statement(
  "node-gateway-endpoint",
  "UPDATE node_gateway SET door_url = $1, door_pin = $2 WHERE id = 1",
  {},
);

export interface GatewayKey {
  privateKey: KeyObject;
  /** `publicKeyText` */
  publicKey: string;
}

type KeyContext = Pick<Context, "database" | "sealer">;

export async function loadGatewayKey({ database, sealer }: KeyContext): Promise<GatewayKey> {
  let [row] = await database.query(readKey, []);
  if (!row) {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = new Secret(privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    await database.query(insertKey, [publicKeyText(publicKey), sealer.seal(sealedRow, pem)]);
    // Another process may have been first.
    [row] = await database.query(readKey, []);
  }
  const pem = sealer.open(sealedRow, row!.private_key_sealed);
  return { privateKey: createPrivateKey(pem.reveal()), publicKey: row!.public_key };
}

/** Writes down where nodes find this gateway, for the tokens that are made from now on. */
export async function announceEndpoint({ database }: KeyContext, url: string, pin: string | null): Promise<void> {
  await database.query(writeEndpoint, [url, pin]);
}
