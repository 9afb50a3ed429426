/** Signatures of messages with a shared key: TSIG (RFC 8945). */
import { createHmac, timingSafeEqual } from "node:crypto";
import { nameToWire, wireNameText } from "#dns/names.ts";
import { classAny, headerBytes, type Message, WireProblem, type WireRecord, wireType } from "#dns/wire.ts";

export const tsigAlgorithms = { "hmac-sha256": "sha256", "hmac-sha384": "sha384", "hmac-sha512": "sha512" } as const;
export type TsigAlgorithm = keyof typeof tsigAlgorithms;

export interface TsigKey {
  /** Absolute, in lower case. */
  name: string;
  algorithm: TsigAlgorithm;
  secret: Buffer;
}

/** RFC 8945 §5.2.3, §10: how far the clocks may be apart. */
const fudgeSeconds = 300;
export const tsigError = { none: 0, badSig: 16, badKey: 17, badTime: 18 } as const;
type TsigError = (typeof tsigError)[keyof typeof tsigError];

const timeBytes = 6;
/** Time, fudge and the size of the MAC; then, after the MAC, the original identifier, error and the size of other data. */
const headFields = timeBytes + 2 + 2;
const tailFields = 2 + 2 + 2;

interface TsigRecord {
  /** As they came: strangers write what our names cannot have. */
  owner: Buffer;
  algorithmName: Buffer;
  keyName: string;
  algorithm: string;
  seconds: number;
  fudge: number;
  mac: Buffer;
  originalId: number;
  error: number;
  other: Buffer;
}

/** What a message that came says of its sender. */
export type Verified =
  | { status: "unsigned" }
  | { status: "malformed" }
  /** Signed with `key` at a time that fits. */
  | { status: "good"; key: TsigKey; mac: Buffer }
  | { status: "bad"; error: TsigError; record: TsigRecord; key?: TsigKey };

/** The digest goes on from message to message of a transfer; `mac` is that of the request, then that of the one before. */
export interface TsigChain {
  mac: Buffer | undefined;
  isFollowing: boolean;
}

export interface TsigTime {
  /** Now, in seconds since 1970. */
  at: number;
}

/**
 * Verifies the signature of a message.
 * @param bytes as they came @param parsed of these bytes, by `parseWithEnd`
 * @param findKey looks a key up by its name, before any digest is made
 */
export function verifyTsig(
  bytes: Buffer,
  { message, lastRecordAt }: { message: Message; lastRecordAt: number },
  findKey: (name: string) => TsigKey | undefined,
  { at }: TsigTime,
  chain: TsigChain = { mac: undefined, isFollowing: false },
): Verified {
  const signatures = [message.answers, message.authority, message.additional]
    .flat()
    .filter(({ type }) => type === wireType.tsig);
  if (signatures.length === 0) return { status: "unsigned" };
  const record = signatures.length === 1 ? readTsig(message.additional.at(-1)!) : undefined;
  if (!record) return { status: "malformed" };
  const key = findKey(record.keyName);
  if (!key || record.algorithm !== `${key.algorithm}.`) return { status: "bad", error: tsigError.badKey, record };
  const unsigned = Buffer.from(bytes.subarray(0, lastRecordAt));
  unsigned.writeUInt16BE(record.originalId, 0);
  unsigned.writeUInt16BE(message.additional.length - 1, additionalCountAt);
  const mac = digest(key, unsigned, record, chain);
  // Nothing truncated.
  const isSame = mac.length === record.mac.length && timingSafeEqual(mac, record.mac);
  if (!isSame) return { status: "bad", error: tsigError.badSig, record, key };
  if (Math.abs(at - record.seconds) > record.fudge) return { status: "bad", error: tsigError.badTime, record, key };
  return { status: "good", key, mac };
}

const additionalCountAt = headerBytes - 2;

function readTsig({ name, type, class: ofClass, ttl, rdata }: WireRecord): TsigRecord | undefined {
  if (type !== wireType.tsig || ofClass !== classAny || ttl !== 0) return undefined;
  try {
    const algorithmEnd = endOfName(rdata);
    const head = part(rdata, algorithmEnd, headFields);
    const macAt = algorithmEnd + headFields;
    const mac = part(rdata, macAt, head.readUInt16BE(timeBytes + 2));
    const tail = part(rdata, macAt + mac.length, tailFields);
    const other = rdata.subarray(macAt + mac.length + tailFields);
    if (other.length !== tail.readUInt16BE(4)) return undefined;
    return {
      owner: name,
      algorithmName: rdata.subarray(0, algorithmEnd),
      keyName: wireNameText(name),
      algorithm: wireNameText(rdata.subarray(0, algorithmEnd)),
      seconds: head.readUIntBE(0, timeBytes),
      fudge: head.readUInt16BE(timeBytes),
      mac,
      originalId: tail.readUInt16BE(0),
      error: tail.readUInt16BE(2),
      other,
    };
  } catch (error) {
    if (error instanceof WireProblem) return undefined;
    throw error;
  }
}

function part(bytes: Buffer, start: number, size: number): Buffer {
  if (start + size > bytes.length) throw new WireProblem("The signature ends too early.");
  return bytes.subarray(start, start + size);
}

/** The name of an algorithm is not compressed (RFC 8945 §4.2). */
function endOfName(bytes: Buffer): number {
  for (let at = 0; ; ) {
    const length = part(bytes, at, 1)[0]!;
    at += 1;
    if (length === 0) return at;
    if (length > 63) throw new WireProblem("The algorithm is no name.");
    part(bytes, at, length);
    at += length;
  }
}

type Variables = Pick<TsigRecord, "seconds" | "fudge" | "error" | "other">;

/** RFC 8945 §4.3.3; in a transfer's following messages only the times are signed (§5.3.1). */
function digest(key: TsigKey, unsigned: Buffer, variables: Variables, { mac, isFollowing }: TsigChain): Buffer {
  const hmac = createHmac(tsigAlgorithms[key.algorithm], key.secret);
  if (mac) hmac.update(numbers([mac.length, 2])).update(mac);
  hmac.update(unsigned);
  const { seconds, fudge, error, other } = variables;
  if (isFollowing) return hmac.update(numbers([seconds, timeBytes], [fudge, 2])).digest();
  return hmac
    .update(nameToWire(key.name))
    .update(numbers([classAny, 2], [0, 4]))
    .update(nameToWire(`${key.algorithm}.`))
    .update(numbers([seconds, timeBytes], [fudge, 2], [error, 2], [other.length, 2]))
    .update(other)
    .digest();
}

function numbers(...given: readonly (readonly [value: number, size: number])[]): Buffer {
  const bytes = Buffer.alloc(given.reduce((total, [, size]) => total + size, 0));
  let at = 0;
  for (const [value, size] of given) at = bytes.writeUIntBE(value, at, size);
  return bytes;
}

/**
 * Appends the signature to a message that has none.
 * @returns the message, and its MAC, which the next one or the answer is signed with
 */
export function signMessage(
  unsigned: Buffer,
  key: TsigKey,
  { at }: TsigTime,
  chain: TsigChain = { mac: undefined, isFollowing: false },
): { bytes: Buffer; mac: Buffer } {
  const variables = { seconds: at, fudge: fudgeSeconds, error: 0, other: Buffer.alloc(0) };
  const mac = digest(key, unsigned, variables, chain);
  return { bytes: append(unsigned, namesOf(key), { ...variables, mac }), mac };
}

/**
 * An answer to a message whose signature is bad (RFC 8945 §5.2, §5.3.2): BADKEY and BADSIG are unsigned, BADTIME is signed with our
 * time.
 * @param unsigned the answer with the rcode NOTAUTH
 */
export function refuseSignature(
  unsigned: Buffer,
  { error, record, key }: Extract<Verified, { status: "bad" }>,
  { at }: TsigTime,
): Buffer {
  const theirs = { seconds: record.seconds, fudge: record.fudge, error };
  if (error !== tsigError.badTime || !key) {
    return append(unsigned, record, { ...theirs, other: Buffer.alloc(0), mac: Buffer.alloc(0) });
  }
  const variables = { ...theirs, other: numbers([at, timeBytes]) };
  const mac = digest(key, unsigned, variables, { mac: record.mac, isFollowing: false });
  return append(unsigned, record, { ...variables, mac });
}

type Names = Pick<TsigRecord, "owner" | "algorithmName">;

const namesOf = ({ name, algorithm }: TsigKey): Names => ({
  owner: nameToWire(name),
  algorithmName: nameToWire(`${algorithm}.`),
});

function append(unsigned: Buffer, { owner, algorithmName }: Names, record: Variables & { mac: Buffer }): Buffer {
  const { seconds, fudge, error, mac, other } = record;
  const rdata = Buffer.concat([
    algorithmName,
    numbers([seconds, timeBytes], [fudge, 2], [mac.length, 2]),
    mac,
    numbers([unsigned.readUInt16BE(0), 2], [error, 2], [other.length, 2]),
    other,
  ]);
  const head = numbers([wireType.tsig, 2], [classAny, 2], [0, 4], [rdata.length, 2]);
  const bytes = Buffer.concat([unsigned, owner, head, rdata]);
  bytes.writeUInt16BE(bytes.readUInt16BE(additionalCountAt) + 1, additionalCountAt);
  return bytes;
}

/** The largest signature of a key, for which a message leaves room. */
export const tsigBytesMax = ({ name, algorithm }: TsigKey): number =>
  nameToWire(name).length + 10 + nameToWire(`${algorithm}.`).length + headFields + 64 + tailFields + timeBytes;
