import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

// A sealed secret is one bytea, so that a row needs one column and can be resealed separately:
//
//   format (1 octet, 1) · length of the key id (1) · key id · nonce (12) · ciphertext · tag (16)
//
// AES-256-GCM. It authenticates everything before the nonce and the row id: bytes that are copied into another row, or
// relabelled with another key, do not open. Nonces are random: NIST SP 800-38D §8.3 allows 2^32 of them under one key.
// The master key itself encrypts nothing: HKDF (RFC 5869) derives one key for sealing and one for HMACs.

const formatVersion = 1;
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const keyIdShape = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Marks the keys that `deedhouse start` makes: nobody was asked to keep them secret. */
export const sandboxKeyId = "sandbox";

/** A master key and its name in sealed rows: lower-case letters, digits and hyphens, 32 at most. */
export interface MasterKey {
  id: string;
  key: Secret<Buffer>;
}

export interface Sealer {
  /**
   * Encrypts under the first key.
   * @param rowId the table, column and primary key of the row that stores the bytes, e.g. "api_keys.secret/42"
   */
  seal(rowId: string, plaintext: Secret): Buffer;
  /**
   * Decrypts a secret that any of the keys sealed for that row.
   * @throws UnreadableSecret when the bytes are damaged, come from another row, or use a key that is not configured
   */
  open(rowId: string, sealed: Uint8Array): Secret;
  /** Whether the bytes use another key than the first, so that they should be sealed again. */
  needsReseal(sealed: Uint8Array): boolean;
  /**
   * HMAC-SHA256 under the first key, 32 octets: for data that must be recognised later but not read.
   * @param context what the data is, e.g. "idempotency body": equal data in two contexts has unrelated HMACs
   */
  hmac(context: string, data: string | Uint8Array): Buffer;
  /** The HMACs of that data under all keys, the first key's first: to find what is stored by its HMAC. */
  hmacs(context: string, data: string | Uint8Array): Buffer[];
  /** Whether `mac` is the HMAC of that data under any of the keys, compared in constant time. */
  isHmac(context: string, data: string | Uint8Array, mac: Uint8Array): boolean;
}

/** A sealed secret does not open. The message names the key, never the content. */
export class UnreadableSecret extends Error {
  override readonly name = "UnreadableSecret";
}

interface DerivedKey {
  id: string;
  sealing: KeyObject;
  hmac: KeyObject;
}

/**
 * Seals and opens the secrets in the database.
 * @param options.keys the current key first, then the keys of older rows
 * @throws Error when there is no key, an id is malformed or given twice, or a key is not 32 octets
 */
export function createSealer(options: { keys: readonly MasterKey[]; random: Random }): Sealer {
  const keys = options.keys.map(deriveKeys);
  const current = keys[0];
  if (current === undefined) throw new Error("No master key is configured: give at least one.");
  if (new Set(keys.map((key) => key.id)).size < keys.length) {
    throw new Error("Two master keys have the same id: give each a different id, because rows are marked with it.");
  }
  return {
    seal: (rowId, plaintext) => sealWith(current, rowId, plaintext, options.random.bytes(nonceBytes)),
    open: (rowId, sealed) => {
      const parts = split(sealed);
      const key = keys.find((candidate) => candidate.id === parts.keyId);
      if (key !== undefined) return openWith(key, rowId, parts);
      throw new UnreadableSecret(`The secret is sealed under the master key "${parts.keyId}": configure that key too.`);
    },
    needsReseal: (sealed) => split(sealed).keyId !== current.id,
    hmac: (context, data) => hmacWith(current, context, data),
    hmacs: (context, data) => keys.map((key) => hmacWith(key, context, data)),
    isHmac: (context, data, mac) =>
      keys.some((key) => {
        const expected = hmacWith(key, context, data);
        return expected.length === mac.length && timingSafeEqual(expected, mac);
      }),
  };
}

/**
 * Reads a master key: 32 octets as 64 hex digits or as base64 (either alphabet, padded or not). White space around it
 * is ignored.
 * @throws Error that says what is wrong without repeating the text
 */
export function parseMasterKey(text: string): Secret<Buffer> {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed)
    ? Buffer.from(trimmed, "hex")
    : Buffer.from(/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed) ? trimmed : "", "base64");
  if (key.length !== keyBytes) {
    throw new Error(
      `The master key must be ${keyBytes} octets, as 64 hex digits or as base64; it has ${trimmed.length} characters. ` +
        "Make one with: openssl rand -hex 32",
    );
  }
  if (key.every((octet) => octet === key[0])) {
    throw new Error("The master key is a placeholder (one octet repeated). Make one with: openssl rand -hex 32");
  }
  return new Secret(key);
}

/** `id:key`; the id marks the rows that are sealed under the key, so that keys can be rotated. */
export function parseNamedKey(text: string): MasterKey {
  const colon = text.indexOf(":");
  if (colon < 1) throw new Error("a master key is written as id:key, like 2026:<64 hex digits>");
  return { id: text.slice(0, colon), key: parseMasterKey(text.slice(colon + 1)) };
}

function deriveKeys(master: MasterKey): DerivedKey {
  if (!keyIdShape.test(master.id)) {
    throw new Error("A master key's id must be 1 to 32 lower-case letters, digits and hyphens.");
  }
  const key = master.key.reveal();
  if (key.length !== keyBytes) throw new Error(`The master key "${master.id}" must be ${keyBytes} octets.`);
  const derive = (purpose: string) => createSecretKey(Buffer.from(hkdfSync("sha256", key, "", purpose, keyBytes)));
  return { id: master.id, sealing: derive("deedhouse sealed secret"), hmac: derive("deedhouse hmac") };
}

function sealWith(key: DerivedKey, rowId: string, plaintext: Secret, nonce: Buffer): Buffer {
  const header = Buffer.concat([Buffer.from([formatVersion, key.id.length]), Buffer.from(key.id)]);
  const cipher = createCipheriv("aes-256-gcm", key.sealing, nonce, { authTagLength: tagBytes });
  cipher.setAAD(Buffer.concat([header, Buffer.from(rowId)]));
  const ciphertext = Buffer.concat([cipher.update(plaintext.reveal(), "utf8"), cipher.final()]);
  return Buffer.concat([header, nonce, ciphertext, cipher.getAuthTag()]);
}

function openWith(key: DerivedKey, rowId: string, parts: SealedParts): Secret {
  const decipher = createDecipheriv("aes-256-gcm", key.sealing, parts.nonce, { authTagLength: tagBytes });
  decipher.setAAD(Buffer.concat([parts.header, Buffer.from(rowId)]));
  decipher.setAuthTag(parts.tag);
  try {
    return new Secret(Buffer.concat([decipher.update(parts.ciphertext), decipher.final()]).toString("utf8"));
  } catch {
    throw new UnreadableSecret(
      `The secret does not open with the master key "${key.id}": the key was changed under its id, or the row was altered.`,
    );
  }
}

interface SealedParts {
  header: Buffer;
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
  tag: Buffer;
}

function split(sealed: Uint8Array): SealedParts {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
  const headerEnd = 2 + (bytes[1] ?? 0);
  const keyId = bytes.toString("latin1", 2, headerEnd);
  const wellFormed =
    bytes[0] === formatVersion && keyIdShape.test(keyId) && bytes.length >= headerEnd + nonceBytes + tagBytes;
  if (!wellFormed) throw new UnreadableSecret("The sealed secret is damaged: it does not have the form of one.");
  return {
    header: bytes.subarray(0, headerEnd),
    keyId,
    nonce: bytes.subarray(headerEnd, headerEnd + nonceBytes),
    ciphertext: bytes.subarray(headerEnd + nonceBytes, -tagBytes),
    tag: bytes.subarray(-tagBytes),
  };
}

/** The context is prefixed with its length, so that no context and data can shift into others. */
function hmacWith(key: DerivedKey, context: string, data: string | Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(context));
  return createHmac("sha256", key.hmac).update(length).update(context).update(data).digest();
}
