/**
 * The DNSSEC algorithms and digest types that may be used for new delegations, by IANA's registries "DNS Security Algorithm
 * Numbers" and "DS RR Type Digest Algorithms" (RFC 9904). SHA-1 (RFC 9905) and GOST of 1994 (RFC 9906) must not be used any more.
 */

/** Bytes of a public key; undefined where they vary (RSA). */
const keyBytes: ReadonlyMap<number, number | undefined> = new Map([
  [8, undefined],
  [10, undefined],
  [13, 64],
  [14, 96],
  [15, 32],
  [16, 57],
  [17, 64],
  [23, 64],
]);

/** RFC 3110 §2: an exponent's length and value, and a modulus of 512 bits at least (RFC 5702 §2). */
const rsaKeyBytesMin = 66;

/** Bytes of a digest. */
const digestBytes: ReadonlyMap<number, number> = new Map([
  [2, 32],
  [4, 48],
  [5, 32],
  [6, 32],
]);

const names = (numbers: Iterable<number>) => [...numbers].join(", ");

/** Why a new record cannot have this algorithm; undefined if it can. */
export function algorithmProblem(algorithm: number): string | undefined {
  if (keyBytes.has(algorithm)) return undefined;
  return `This algorithm must not be used for new records (RFC 9904): use one of ${names(keyBytes.keys())}.`;
}

/** Why a new record cannot have this digest; undefined if it can. @param digest hexadecimal */
export function digestProblem(
  type: number,
  digest: string,
): { field: "digest_type" | "digest"; text: string } | undefined {
  const bytes = digestBytes.get(type);
  if (bytes === undefined) {
    const text = `This digest type must not be used for new records (RFC 9904): use one of ${names(digestBytes.keys())}.`;
    return { field: "digest_type", text };
  }
  if (digest.length === 2 * bytes) return undefined;
  return { field: "digest", text: `A digest of type ${type} has ${2 * bytes} hexadecimal digits.` };
}

/** Why a key of an algorithm cannot be right; undefined if it can. */
export function publicKeyProblem(algorithm: number, key: Buffer): string | undefined {
  const bytes = keyBytes.get(algorithm);
  if (bytes !== undefined && key.length !== bytes) return `A public key of algorithm ${algorithm} has ${bytes} bytes.`;
  if (bytes === undefined && key.length < rsaKeyBytesMin) return "This RSA key has less than 512 bits.";
  return undefined;
}
