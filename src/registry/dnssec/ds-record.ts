/** The DS record of a key (RFC 4034 §5.1). */
import { createHash } from "node:crypto";
import type { DsData, KeyData } from "#registry/epp/commands/domain/sec-dns.ts";

/** RFC 4509. */
const sha256DigestType = 2;

/** RFC 4034 §2.1: the key's record as it is in the DNS. */
function rdataOf({ flags, protocol, alg, pubKey }: KeyData): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(flags, 0);
  head.writeUInt8(protocol, 2);
  head.writeUInt8(alg, 3);
  return Buffer.concat([head, Buffer.from(pubKey, "base64")]);
}

/** RFC 4034 appendix B; algorithm 1, which has another rule, is not used any more. */
function keyTagOf(key: KeyData): number {
  let sum = 0;
  for (const [index, byte] of rdataOf(key).entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  return (sum + (sum >>> 16)) & 0xffff;
}

/** RFC 4034 §6.2: the owner name in canonical form. @param name an A-label name in lower case */
function wireNameOf(name: string): Buffer {
  const labels = name.split(".").flatMap((label) => [Buffer.from([label.length]), Buffer.from(label, "latin1")]);
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** RFC 4034 §5.1.4, with SHA-256. @param name the name whose key it is */
export function dsOfKey(name: string, key: KeyData): DsData {
  const hash = createHash("sha256").update(wireNameOf(name)).update(rdataOf(key));
  const digest = hash.digest("hex").toUpperCase();
  return { keyTag: keyTagOf(key), alg: key.alg, digestType: sha256DigestType, digest };
}
