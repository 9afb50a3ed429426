/** A small name server for tests (RFC 1035): answers queries for TXT and A records over UDP, on a free loopback port. */
import { createSocket, type RemoteInfo } from "node:dgram";
import { once } from "node:events";

const headerBytes = 12;
const typeA = 1;
const typeTxt = 16;
const classIn = 1;
const ttlSeconds = 60;
const noError = 0;
const serverFailure = 2;
const nameError = 3;

export interface NameServer {
  /** `127.0.0.1:port` */
  address: string;
  /** Texts of the TXT records by name; a name without an entry does not exist. */
  records: Map<string, string[]>;
  /** IPv4 addresses by name. */
  addresses: Map<string, string[]>;
  /** The queried names, in order. */
  asked: string[];
  /** How it reacts to queries. */
  mood: "answers" | "fails" | "silent";
  /** It never answers queries for these names. */
  silentAbout: RegExp | undefined;
  close(): Promise<void>;
}

export async function startNameServer(): Promise<NameServer> {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const server: NameServer = {
    address: `127.0.0.1:${socket.address().port}`,
    records: new Map(),
    addresses: new Map(),
    asked: [],
    mood: "answers",
    silentAbout: undefined,
    async close() {
      socket.close();
      await once(socket, "close");
    },
  };
  socket.on("message", (query: Buffer, from: RemoteInfo) => {
    const { name, type, end } = readQuestion(query);
    server.asked.push(name);
    if (server.mood === "silent" || server.silentAbout?.test(name)) return;
    const found = server.mood === "answers" ? findRecords(server, name, type) : undefined;
    const code = server.mood === "fails" ? serverFailure : found === undefined ? nameError : noError;
    socket.send(answer(query.subarray(0, end), code, found ?? []), from.port, from.address);
  });
  return server;
}

/** @returns undefined for a name that does not exist */
function findRecords({ records, addresses }: NameServer, name: string, type: number): Buffer[] | undefined {
  const [texts, own] = [records.get(name), addresses.get(name)];
  if (type === typeTxt && texts) return texts.map(txtRecord);
  if (type === typeA && own) return own.map((address) => record(typeA, Buffer.from(address.split(".").map(Number))));
  return texts || own ? [] : undefined;
}

/** The queried name in lower case, the record type, and the end of the question. */
function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(header: Buffer, code: number, records: readonly Buffer[]): Buffer {
  const reply = Buffer.from(header);
  // QR, RD and RA; one question, no authority, no additional records (the question may have carried EDNS).
  reply.writeUInt16BE(0x8180 | code, 2);
  for (const [index, count] of [1, records.length, 0, 0].entries()) reply.writeUInt16BE(count, 4 + 2 * index);
  return Buffer.concat([reply, ...records]);
}

function txtRecord(text: string): Buffer {
  const bytes = Buffer.from(text);
  const strings: Buffer[] = [];
  for (let at = 0; at === 0 || at < bytes.length; at += 255) {
    const part = bytes.subarray(at, at + 255);
    strings.push(Buffer.of(part.length), part);
  }
  return record(typeTxt, Buffer.concat(strings));
}

function record(type: number, data: Buffer): Buffer {
  // A pointer to the question's name.
  const fixed = Buffer.from([0xc0, headerBytes, 0, type, 0, classIn, 0, 0, 0, ttlSeconds, 0, 0]);
  fixed.writeUInt16BE(data.length, 10);
  return Buffer.concat([fixed, data]);
}
