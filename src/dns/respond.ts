/** The response to one message, whichever way it came. */
import type { BlockList } from "node:net";
import { type Answer, answerQuestion } from "#dns/answer.ts";
import { answerSigned, type Feed } from "#dns/feed.ts";
import { wireNameText, zoneNamesFor } from "#dns/names.ts";
import type { ServedZone } from "#dns/served-zone.ts";
import {
  classIn,
  flag,
  type Message,
  messageBytesMax,
  opcodeMask,
  parseMessage,
  type Question,
  rcode,
  readHeader,
  WireProblem,
  type WireRecord,
  wireType,
  writeMessage,
} from "#dns/wire.ts";
import { addressFamily } from "#lib/net/address-ranges.ts";

export interface ResponderOptions {
  /** The sources that get answers. */
  answered: BlockList;
  /**
   * The zone that a name is in: the first of `zoneNamesFor(name)` that is a zone here. A version that is served again
   * should be the same object, since what is made of it is kept.
   * @param name without the last dot
   * @throws any error while nobody knows, since the database is away
   */
  findZone(name: string): Promise<ServedZone | undefined>;
  /** Is told whether `findZone` knew. */
  found(error?: unknown): void;
  /** Whether the source may be told once more that it is refused. */
  mayRefuse(source: string): boolean;
  /** Name servers that take zones from here. */
  feed?: Feed | undefined;
}

/** One message, or those of a transfer. */
export type Response = Buffer | AsyncIterable<Buffer> | undefined;

export interface Peer {
  /** Without a zone, and not IPv4-mapped. */
  address: string;
  isTcp: boolean;
}

/** RFC 9715 §3.1: what passes everywhere without fragments. */
const udpBytesMax = 1_232;
/** RFC 1035 §4.2.1, for those who do not say more. */
const plainUdpBytesMax = 512;
const rcodeBits = 4;

type Request = {
  id: number;
  flags: number;
  question?: Question | undefined;
  edns?: Edns | undefined;
  isSigned?: boolean;
};
/** What a request says of itself in its OPT record (RFC 6891). */
type Edns = { version: number; udpBytes: number };

const rootName = Buffer.of(0);
const nothing = { isAuthoritative: false, answers: [], authority: [], additional: [] };

/** Returns the bytes to send, or undefined for silence. */
export function createResponder(options: ResponderOptions): (bytes: Buffer, peer: Peer) => Promise<Response> {
  return async (bytes, peer) => {
    const header = readHeader(bytes);
    // Two servers that answer responses would never stop.
    if (!header || (header.flags & flag.response) !== 0) return undefined;
    const request = readRequest(bytes, header);
    if (request?.isSigned && options.feed) {
      const response = await answerSigned(options.feed, bytes, peer).catch((error: unknown) => {
        options.found(error);
        return fail(request, rcode.servFail, peer);
      });
      return response === "stranger" ? refuse(options, request, peer) : response;
    }
    const isAnswered = options.answered.check(peer.address, addressFamily(peer.address));
    if (!isAnswered) return refuse(options, request ?? header, peer);
    if ((header.flags & opcodeMask) !== 0) return fail(request ?? header, rcode.notImp, peer);
    if (request?.question === undefined) return fail(header, rcode.formErr, peer);
    if ((request.edns?.version ?? 0) > 0) return fail(request, rcode.badVers, peer);
    return answer(options, request, request.question, peer);
  };
}

async function answer(options: ResponderOptions, request: Request, question: Question, peer: Peer) {
  const name = wireNameText(question.name);
  const isTransfer = question.type === wireType.axfr || question.type === wireType.ixfr;
  const isOurs = question.class === classIn && !isTransfer && zoneNamesFor(name).length > 0;
  if (!isOurs) return refuse(options, request, peer);
  const found = await find(options, name.slice(0, -1));
  // Name servers go on with what they have (RFC 1035 §3.3.13, expire).
  if (found.isAway) return fail(request, rcode.servFail, peer);
  if (!found.zone) return refuse(options, request, peer);
  return write(request, answerQuestion(found.zone, question), peer);
}

async function find(
  options: ResponderOptions,
  name: string,
): Promise<{ isAway: boolean; zone?: ServedZone | undefined }> {
  try {
    const zone = await options.findZone(name);
    options.found();
    return { isAway: false, zone };
  } catch (error) {
    options.found(error);
    return { isAway: true };
  }
}

/** The one question of a message; undefined for bytes that are no message. */
function readRequest(bytes: Buffer, header: { id: number; flags: number }): Request | undefined {
  try {
    const { questions, additional } = parseMessage(bytes);
    const opts = additional.filter(({ type }) => type === wireType.opt);
    const opt = opts[0];
    // RFC 6891 §6.1.1.
    if (opts.length > 1 || (opt && opt.name.length > 1)) return undefined;
    const edns = opt && { version: (opt.ttl >>> 16) & 255, udpBytes: opt.class };
    const question = questions.length === 1 ? questions[0] : undefined;
    const isSigned = additional.some(({ type }) => type === wireType.tsig);
    return { id: header.id, flags: header.flags, question, edns, isSigned };
  } catch (error) {
    if (error instanceof WireProblem) return undefined;
    throw error;
  }
}

/** The question alone: a stranger gets no more bytes than he has sent. */
function refuse(options: ResponderOptions, { id, flags, question }: Request, peer: Peer): Buffer | undefined {
  if (!options.mayRefuse(peer.address)) return undefined;
  return fail({ id, flags, question }, rcode.refused, peer);
}

function fail(request: Request, code: number, peer: Peer): Buffer | undefined {
  return write(request, Object.assign({ rcode: code }, nothing), peer);
}

function write({ id, flags, question, edns }: Request, given: Answer, { isTcp }: Peer): Buffer | undefined {
  const kept = flags & (opcodeMask | flag.recursionDesired);
  const authoritative = given.isAuthoritative ? flag.authoritative : 0;
  const opt = edns ? [optRecord(given.rcode)] : [];
  const message: Message = {
    id,
    flags: flag.response | kept | authoritative | (given.rcode & (2 ** rcodeBits - 1)),
    questions: question ? [question] : [],
    answers: given.answers,
    authority: given.authority,
    additional: [...given.additional, ...opt],
  };
  const udpMax = edns ? Math.min(Math.max(edns.udpBytes, plainUdpBytesMax), udpBytesMax) : plainUdpBytesMax;
  const whole = writeMessage(message, isTcp ? messageBytesMax : udpMax);
  if (whole) return whole;
  const cut = { id, flags: message.flags | flag.truncated, questions: message.questions, answers: [], authority: [] };
  return writeMessage(Object.assign(cut, { additional: opt }), plainUdpBytesMax);
}

function optRecord(code: number): WireRecord {
  const extended = (code >> rcodeBits) * 2 ** 24;
  return { name: rootName, type: wireType.opt, class: udpBytesMax, ttl: extended, rdata: Buffer.alloc(0) };
}
