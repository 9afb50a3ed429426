/** Asks a name server under its key, over TCP, and tells it of changes (NOTIFY, RFC 1996). */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, isIPv6 } from "node:net";
import { soaSerial } from "#dns/feed.ts";
import { nameToWire } from "#dns/names.ts";
import { FrameReader, frame } from "#dns/tcp-frames.ts";
import { signMessage, type TsigChain, type TsigKey, verifyTsig } from "#dns/tsig.ts";
import {
  classIn,
  expandRdata,
  flag,
  type Message,
  messageBytesMax,
  parseWithEnd,
  WireProblem,
  type WireRecord,
  wireType,
  writeMessage,
} from "#dns/wire.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";

/** Where a name server is, and the key under which it and we know each other. */
export interface KnownServer {
  address: string;
  port: number;
  key: TsigKey;
}

/** What asking needs. */
export interface Asking {
  clock: Pick<Clock, "now">;
  random: Pick<Random, "bytes">;
}

/** Why there is no answer that could be trusted: a sentence. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** Of an answer without a signature, which anybody may have sent. */
  readonly rcode: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.rcode = code;
  }
}

const notifyFlags = (4 << 11) | flag.authoritative;
const answerMsMax = 5_000;
/** Of a transfer: as much as a zone, or the catalog of a million, may have. */
const transferBytesMax = 256 * 2 ** 20;

const secondsOf = (clock: Asking["clock"]) => Math.floor(clock.now().getTime() / 1_000);

function question({ random, clock }: Asking, { key }: KnownServer, zone: string, type: number, flags = 0) {
  const id = random.bytes(2).readUInt16BE();
  const questions = [{ name: nameToWire(`${zone}.`), type, class: classIn }];
  const message: Message = { id, flags, questions, answers: [], authority: [], additional: [] };
  const unsigned = writeMessage(message, messageBytesMax)!;
  return { id, ...signMessage(unsigned, key, { at: secondsOf(clock) }) };
}

/** Says that a zone has changed. It may be lost, so say it again while the server shows the old one. */
export async function sendNotify(asking: Asking, server: KnownServer, zone: string): Promise<void> {
  const socket = createSocket(isIPv6(server.address) ? "udp6" : "udp4");
  try {
    const { bytes } = question(asking, server, zone, wireType.soa, notifyFlags);
    await new Promise<void>((resolve) => socket.send(bytes, server.port, server.address, () => resolve()));
  } finally {
    socket.close();
  }
}

/**
 * The serial of a zone at the server; undefined if it answers that it has none.
 * @throws NoAnswer also for an answer that is not signed with the key
 */
export async function askSignedSerial(
  asking: Asking,
  server: KnownServer,
  zone: string,
): Promise<{ serial: number } | { rcode: number }> {
  for await (const { flags, answers } of exchange(asking, server, zone, wireType.soa)) {
    const serial = answers.filter(({ type }) => type === wireType.soa).map(({ rdata }) => soaSerial(rdata))[0];
    const isAnswer = (flags & flag.authoritative) !== 0 && serial !== undefined;
    return isAnswer ? { serial } : { rcode: flags & 15 };
  }
  throw new NoAnswer("It closed the connection without an answer.");
}

/** All records of a zone, SOA first and only once. @throws NoAnswer */
export async function transferZone(asking: Asking, server: KnownServer, zone: string): Promise<WireRecord[]> {
  const records: WireRecord[] = [];
  let bytes = 0;
  for await (const { flags, answers } of exchange(asking, server, zone, wireType.axfr)) {
    if ((flags & 15) !== 0) throw new NoAnswer(`It refuses the transfer of ${zone}, with rcode ${flags & 15}.`);
    for (const record of answers) {
      bytes += record.name.length + record.rdata.length;
      if (bytes > transferBytesMax) throw new NoAnswer(`The transfer of ${zone} does not end.`);
      if (records.length === 0 && record.type !== wireType.soa) throw new NoAnswer(`${zone} begins without SOA.`);
      if (records.length > 0 && record.type === wireType.soa) return records;
      records.push(record);
    }
  }
  throw new NoAnswer(`The transfer of ${zone} ended too early.`);
}

/** The signed messages that answer a question. */
async function* exchange(asking: Asking, server: KnownServer, zone: string, type: number): AsyncGenerator<Message> {
  const asked = question(asking, server, zone, type);
  const socket = connect(server.port, server.address);
  const reader = new FrameReader();
  let chain: TsigChain = { mac: asked.mac, isFollowing: false };
  socket.setTimeout(answerMsMax, () => socket.destroy(new NoAnswer("It did not answer in time.")));
  try {
    await once(socket, "connect");
    socket.write(frame(asked.bytes));
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      for (const bytes of reader.push(chunk)) {
        const { message, mac } = read(asking, server, bytes, chain);
        if (message.id !== asked.id) throw new NoAnswer("It answered another question.");
        chain = { mac, isFollowing: true };
        yield message;
      }
    }
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    if (error instanceof WireProblem) throw new NoAnswer(`Its answer is no message: ${error.message}`);
    throw new NoAnswer(`It did not answer: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}.`);
  } finally {
    socket.destroy();
  }
}

function read({ clock }: Asking, { key }: KnownServer, bytes: Buffer, chain: TsigChain) {
  const parsed = parseWithEnd(bytes);
  const isKey = (name: string) => (name === key.name ? key : undefined);
  const verified = verifyTsig(bytes, parsed, isKey, { at: secondsOf(clock) }, chain);
  if (verified.status !== "good") {
    const { flags } = parsed.message;
    throw new NoAnswer(`Its answer (rcode ${flags & 15}) is not signed with the key: ${verified.status}.`, flags & 15);
  }
  for (const record of parsed.message.answers) record.rdata = expandRdata(bytes, record);
  return { message: parsed.message, mac: verified.mac };
}
