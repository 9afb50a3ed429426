/** What name servers get that sign with their key: SOA, and whole zones (RFC 5936), also in place of differences (RFC 1995 §4). */
import { answerQuestion, zoneRecords } from "#dns/answer.ts";
import { wireNameText } from "#dns/names.ts";
import { isAtLeast } from "#dns/serials.ts";
import type { ServedZone } from "#dns/served-zone.ts";
import { refuseSignature, signMessage, type TsigChain, type TsigKey, tsigBytesMax, verifyTsig } from "#dns/tsig.ts";
import {
  classIn,
  flag,
  type Message,
  messageBytesMax,
  opcodeMask,
  parseWithEnd,
  type Question,
  rcode,
  type WireRecord,
  wireType,
  writeMessage,
} from "#dns/wire.ts";

/** A key, as it may be used from one address. */
export interface FeedKey extends TsigKey {
  /** It is valid from there. */
  isFromHere: boolean;
  /** Its server gets zones; otherwise it is refused, whatever it asks. */
  isFed: boolean;
}

export interface Feed {
  /**
   * The keys, if the address is one of a name server's.
   * @throws any error while the database is away
   */
  keysFor(address: string): Promise<readonly FeedKey[] | undefined>;
  /** The zone of exactly that name, one version of it from one snapshot. @throws as `keysFor` */
  findZone(name: string): Promise<ServedZone | undefined>;
  /** Seconds since 1970. */
  now(): number;
}

const nothing = { answers: [], authority: [], additional: [] };

/** "stranger": no name server is at that address. @throws as `Feed` does */
export async function answerSigned(
  feed: Feed,
  bytes: Buffer,
  { address, isTcp }: { address: string; isTcp: boolean },
): Promise<Buffer | AsyncIterable<Buffer> | "stranger"> {
  const keys = await feed.keysFor(address);
  if (!keys) return "stranger";
  const parsed = parseWithEnd(bytes);
  const { id, flags, questions, authority } = parsed.message;
  const time = { at: feed.now() };
  const kept = flag.response | (flags & (opcodeMask | flag.recursionDesired));
  const plain = (code: number) => writeMessage({ id, flags: kept | code, questions, ...nothing }, messageBytesMax)!;
  const verified = verifyTsig(bytes, parsed, (name) => keys.find((key) => key.name === name), time);
  if (verified.status === "bad") return refuseSignature(plain(rcode.notAuth), verified, time);
  if (verified.status !== "good") return plain(rcode.formErr);
  const key = verified.key as FeedKey;
  if (!key.isFromHere) return plain(rcode.refused);
  const chain: TsigChain = { mac: verified.mac, isFollowing: false };
  const signed = (message: Buffer) => signMessage(message, key, time, chain).bytes;
  if ((flags & opcodeMask) !== 0) return signed(plain(rcode.notImp));
  const [question] = questions;
  if (!question || questions.length > 1) return signed(plain(rcode.formErr));
  const isTransfer = question.type === wireType.axfr || question.type === wireType.ixfr;
  const isOffered = question.class === classIn && (question.type === wireType.soa || isTransfer);
  const isAllowed = key.isFed && isOffered && (isTcp || question.type !== wireType.axfr);
  const zone = isAllowed ? await feed.findZone(wireNameText(question.name).slice(0, -1)) : undefined;
  if (!zone) return signed(plain(rcode.refused));
  const head = { id, flags: kept | flag.authoritative, questions };
  const soaAlone = !isTransfer || (question.type === wireType.ixfr && (!isTcp || isUpToDate(zone, authority)));
  if (!soaAlone) return transfer(zone, head, key, chain, feed);
  const { answers } = answerQuestion(zone, { ...question, type: wireType.soa } satisfies Question);
  return signed(writeMessage({ ...head, ...nothing, answers }, messageBytesMax)!);
}

const soaNumbersBytes = 20;
/** The serial in the RDATA of an SOA record, whose numbers come last. */
export const soaSerial = (rdata: Buffer): number | undefined =>
  rdata.length < soaNumbersBytes ? undefined : rdata.readUInt32BE(rdata.length - soaNumbersBytes);

/** RFC 1995 §3: an IXFR question says what its sender has. */
function isUpToDate(zone: ServedZone, authority: readonly WireRecord[]): boolean {
  const soa = authority.find(({ type }) => type === wireType.soa);
  const serial = soa && soaSerial(soa.rdata);
  return serial !== undefined && isAtLeast(serial, zone.serial);
}

/** Compression reaches so far (RFC 1035 §4.1.4), and a message of this size leaves the processor to others soon. */
const partBytes = 16_000;

/** Each message is signed (RFC 8945 §5.3.1). */
async function* transfer(
  zone: ServedZone,
  head: Pick<Message, "id" | "flags" | "questions">,
  key: TsigKey,
  first: TsigChain,
  feed: Pick<Feed, "now">,
): AsyncGenerator<Buffer> {
  let chain = first;
  for (const answers of parts(zone)) {
    const questions = chain.isFollowing ? [] : head.questions;
    const message = writeMessage({ ...head, ...nothing, questions, answers }, messageBytesMax - tsigBytesMax(key))!;
    const { bytes, mac } = signMessage(message, key, { at: feed.now() }, chain);
    chain = { mac, isFollowing: true };
    yield bytes;
    // Others get their turn between two messages, also while the peer reads as fast as we write.
    await new Promise(setImmediate);
  }
}

/** The records in messages: SOA first, and again at the end (RFC 5936 §2.2). */
function* parts(zone: ServedZone): Generator<WireRecord[]> {
  let part: WireRecord[] = [];
  let bytes = 0;
  let soa: WireRecord | undefined;
  const sizeOf = ({ name, rdata }: WireRecord) => name.length + 10 + rdata.length;
  for (const record of zoneRecords(zone)) {
    soa ??= record;
    if (bytes + sizeOf(record) > partBytes && part.length > 0) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += sizeOf(record);
  }
  yield [...part, soa!];
}
