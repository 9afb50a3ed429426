import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { nameToWire, wireNameText, zoneNamesFor } from "#dns/names.ts";
import { parseRecordSet } from "#dns/records.ts";
import { type ServedZone, servedZone } from "#dns/served-zone.ts";
import { type DnsLimits, startDnsServer } from "#dns/server.ts";
import { FrameReader, frame } from "#dns/tcp-frames.ts";
import { flag, type Message, parseMessage, rcode, writeMessage } from "#dns/wire.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { seed } from "../../test/properties/seed.ts";

const zone = servedZone({
  name: "example.com",
  serial: 7,
  sets: [
    parseRecordSet("example.com", { subname: "www", type: "A", records: ["192.0.2.1"] }),
    parseRecordSet("example.com", { subname: "long", type: "TXT", records: ["a".repeat(600), "b".repeat(200)] }),
    parseRecordSet("example.com", { subname: "longer", type: "TXT", records: ["a".repeat(1_500)] }),
  ],
  managed: [],
  nameServers: ["ns1.dns.test"],
  hostmaster: "h.dns.test",
});

interface Setup {
  findZone?: (name: string) => Promise<ServedZone | undefined>;
  answered?: string;
  limits?: Partial<DnsLimits>;
}

async function start(t: TestContext, { findZone, answered = "127.0.0.0/8", limits = {} }: Setup = {}) {
  const clock = createManualClock(0);
  const server = await startDnsServer({
    host: "127.0.0.1",
    port: 0,
    answered: parseRanges([answered]),
    findZone: findZone ?? (async (name) => (zoneNamesFor(name).includes(zone.name) ? zone : undefined)),
    clock,
    log: pino({ level: "silent" }),
    limits,
  });
  t.after(() => server.close());
  return { port: server.port, clock };
}

const typeA = 1;
const typeTxt = 16;
const opt = (udpBytes: number, version = 0) => ({
  name: Buffer.of(0),
  type: 41,
  class: udpBytes,
  ttl: version << 16,
  rdata: Buffer.alloc(0),
});

function question(name: string, type = typeA, changes: Partial<Message> = {}): Buffer {
  const questions = [{ name: nameToWire(name), type, class: 1 }];
  const base = { id: 4711, flags: flag.recursionDesired, questions, answers: [], authority: [], additional: [] };
  return writeMessage(Object.assign(base, changes), 65_535)!;
}

/** What UDP answers to each message; undefined where it is silent, which a later question shows that has an answer. */
async function askUdp(t: TestContext, port: number, messages: readonly Buffer[]): Promise<(Message | undefined)[]> {
  const socket = createSocket("udp4");
  t.after(() => socket.close());
  const answers = new Map<number, Message>();
  const marker = 65_535;
  const marked = new Promise<void>((resolve) => {
    socket.on("message", (bytes) => {
      const id = bytes.readUInt16BE(0);
      answers.set(id, parseMessage(bytes));
      if (id === marker) resolve();
    });
  });
  const numbered = messages.map((message, index) => {
    if (message.length >= 2) message.writeUInt16BE(index, 0);
    return message;
  });
  for (const message of [...numbered, question("www.example.com.", typeA, { id: marker })]) {
    socket.send(message, port, "127.0.0.1");
  }
  await marked;
  return messages.map((_message, index) => answers.get(index));
}

async function open(t: TestContext, port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  t.after(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** Whether it was ended or reset. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once("close", resolve));

async function readMessages(socket: Socket, count: number): Promise<Message[]> {
  const reader = new FrameReader();
  const messages: Message[] = [];
  for await (const chunk of socket) {
    messages.push(...reader.push(chunk).map(parseMessage));
    if (messages.length >= count) break;
  }
  return messages;
}

describe("over UDP", () => {
  test("a question gets its answer, with AA, and with the letters of its name as they were", async (t) => {
    const { port } = await start(t);
    const message = question("wWw.eXample.com.");
    const [answer] = await askUdp(t, port, [message]);
    assert.equal(answer!.flags, flag.response | flag.authoritative | flag.recursionDesired);
    assert.equal(answer!.questions[0]!.name.toString("latin1"), "\x03wWw\x07eXample\x03com\0");
    assert.equal(answer!.answers[0]!.rdata.join("."), "192.0.2.1");
    assert.deepEqual(answer!.additional, []);
  });

  test("an answer is cut at 512 bytes, and with EDNS at the size that it gives, but not beyond 1,232", async (t) => {
    const { port } = await start(t);
    const sizes = [undefined, 100, 1_232, 4_096];
    const ask = (name: string) =>
      sizes.map((size) => question(name, typeTxt, { additional: size === undefined ? [] : [opt(size)] }));
    const answers = await askUdp(t, port, [...ask("long.example.com."), ...ask("longer.example.com.")]);
    const isCut = answers.map((answer) => (answer!.flags & flag.truncated) !== 0);
    assert.deepEqual(isCut, [true, true, false, false, true, true, true, true]);
    assert.deepEqual(
      answers.map((answer) => answer!.additional.length),
      [0, 1, 1, 1, 0, 1, 1, 1],
    );
    assert.deepEqual(answers[0]!.answers, []);
  });

  test("a message that is no question here gets the code that says why", async (t) => {
    const { port } = await start(t);
    const twice = parseMessage(question("www.example.com."));
    twice.questions.push(twice.questions[0]!);
    const [two, none, notify, update, version, surplus, twoOpts, response] = await askUdp(t, port, [
      writeMessage(twice, 512)!,
      question("a.", typeA, { questions: [] }),
      question("example.com.", 6, { flags: 4 << 11 }),
      question("example.com.", 6, { flags: 5 << 11 }),
      question("www.example.com.", typeA, { additional: [opt(1_232, 1)] }),
      Buffer.concat([question("www.example.com."), Buffer.of(0)]),
      question("www.example.com.", typeA, { additional: [opt(512), opt(512)] }),
      question("www.example.com.", typeA, { flags: flag.response }),
    ]);
    const codes = [two, none, notify, update, version, surplus, twoOpts].map((answer) => answer!.flags & 15);
    const { formErr, notImp } = rcode;
    assert.deepEqual(codes, [formErr, formErr, notImp, notImp, 0, formErr, formErr]);
    assert.equal(version!.additional[0]!.ttl >>> 24, rcode.badVers >> 4);
    assert.equal((notify!.flags >> 11) & 15, 4);
    assert.equal(response, undefined);
  });

  test("what is not here is refused with the question alone, ten times a second, then there is silence", async (t) => {
    const { port, clock } = await start(t);
    const other = () => question("www.example.net.", typeA, { additional: [opt(1_232)] });
    const answers = await askUdp(t, port, Array.from({ length: 12 }, other));
    const refused = answers.filter((answer) => answer !== undefined);
    assert.equal(refused.length, 10);
    for (const answer of refused) {
      assert.equal(answer.flags & 15, rcode.refused);
      assert.equal(wireNameText(answer.questions[0]!.name), "www.example.net.");
      assert.deepEqual([answer.answers, answer.authority, answer.additional], [[], [], []]);
    }
    clock.advance(1_000);
    const [chaos, axfr, ixfr, oneLabel] = await askUdp(t, port, [
      question("a.", typeA, { questions: [{ name: nameToWire("www.example.com."), type: typeA, class: 3 }] }),
      question("example.com.", 252),
      question("example.com.", 251),
      question("com."),
    ]);
    for (const answer of [chaos, axfr, ixfr, oneLabel]) assert.equal(answer!.flags & 15, rcode.refused);
  });

  test("a source outside of the ranges gets no answer that is larger than its question", async (t) => {
    const { port } = await start(t, { answered: "192.0.2.0/24", limits: { refusalsMax: 1_000 } });
    const socket = createSocket("udp4");
    t.after(() => socket.close());
    const twice = parseMessage(question("www.example.com."));
    twice.questions.push(twice.questions[0]!);
    const asked = [
      question("www.example.com."),
      question("longer.example.com.", typeTxt, { additional: [opt(4_096)] }),
      question("example.com.", 6, { flags: 4 << 11 }),
      Buffer.concat([question("www.example.com."), Buffer.alloc(9)]),
      writeMessage(twice, 512)!,
      question("www.example.com.").subarray(0, 12),
    ];
    for (const bytes of asked) {
      const answered = once(socket, "message");
      socket.send(bytes, port, "127.0.0.1");
      const [answer] = (await answered) as [Buffer];
      assert.equal(answer.readUInt16BE(2) & 15, rcode.refused);
      assert.ok(answer.length <= bytes.length, `${answer.length} bytes for ${bytes.length}`);
    }
  });

  test("while the database is away a question gets SERVFAIL", async (t) => {
    let isAway = true;
    const { port } = await start(t, {
      findZone: async (name) => {
        if (isAway && name !== "www.example.com") throw new Error("away");
        return zone;
      },
    });
    const [away] = await askUdp(t, port, [question("a.example.com.")]);
    assert.equal(away!.flags & 15, rcode.servFail);
    isAway = false;
    const [back] = await askUdp(t, port, [question("a.example.com.")]);
    assert.equal(back!.flags & 15, rcode.nxDomain);
  });

  test("damaged messages do no harm", async (t) => {
    const { port } = await start(t, { limits: { refusalsMax: 100_000 } });
    const wounds = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 4 });
    const damaged = fc.sample(wounds, { numRuns: 2_000, seed }).map((places) => {
      const bytes = question("www.example.com.", typeA, { additional: [opt(1_232)] });
      for (const [at, byte] of places) bytes[at % bytes.length] = byte;
      return bytes.subarray(0, bytes.length - (places[0]![0] % 3));
    });
    for (let start = 0; start < damaged.length; start += 100) await askUdp(t, port, damaged.slice(start, start + 100));
  });
});

describe("over TCP", () => {
  test("questions in any cut get their answers in order", async (t) => {
    const { port } = await start(t);
    const names = ["www.example.com.", "longer.example.com.", "a.example.com.", "www.example.com."];
    const stream = Buffer.concat(names.map((name, id) => frame(question(name, typeTxt, { id }))));
    const cuts = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(cuts, async (sizes) => {
        const socket = await open(t, port);
        for (let at = 0, round = 0; at < stream.length; round += 1) {
          const size = sizes[round % sizes.length]!;
          socket.write(stream.subarray(at, at + size));
          at += size;
          await new Promise(setImmediate);
        }
        const answers = await readMessages(socket, names.length);
        assert.deepEqual(
          answers.map(({ id }) => id),
          [0, 1, 2, 3],
        );
        assert.ok(answers.every(({ flags }) => (flags & flag.truncated) === 0));
        assert.equal(answers[1]!.answers[0]!.rdata.length, 1_506);
      }),
      { seed, numRuns: 20 },
    );
  });

  test("a client that has sent all gets the answers, and then the end", async (t) => {
    const { port } = await start(t);
    const socket = await open(t, port);
    socket.end(Buffer.concat([frame(question("www.example.com.")), frame(question("www.example.com."))]));
    assert.equal((await readMessages(socket, 3)).length, 2);
  });

  test("a connection without a whole question is cut after its time, also when bytes go on coming", async (t) => {
    const { port } = await start(t, { limits: { idleMs: 150 } });
    const silent = await open(t, port);
    const slow = await open(t, port);
    silent.resume();
    slow.resume();
    slow.on("error", () => {});
    const drip = setInterval(() => slow.write(Buffer.of(255)), 20);
    t.after(() => clearInterval(drip));
    await Promise.all([closed(silent), closed(slow)]);
  });

  test("a frame that is too short for a message ends the connection", async (t) => {
    const { port } = await start(t);
    const socket = await open(t, port);
    socket.resume();
    socket.write(Buffer.of(0, 0));
    await closed(socket);
  });

  test("a client that does not read is cut after its time", async (t) => {
    const { port } = await start(t, { limits: { unreadMs: 200 } });
    const socket = await open(t, port);
    socket.pause();
    socket.on("error", () => {});
    const many = Buffer.concat(Array.from({ length: 1_000 }, () => frame(question("longer.example.com.", typeTxt))));
    const cut = closed(socket);
    const write = () => {
      while (!socket.destroyed && socket.write(many));
    };
    socket.on("drain", write);
    write();
    await cut;
  });

  test("a source has no more connections than its share", async (t) => {
    const { port } = await start(t, { limits: { sourceConnectionsMax: 2 } });
    const first = await open(t, port);
    const second = await open(t, port);
    const third = await open(t, port);
    third.on("error", () => {});
    third.resume();
    await closed(third);
    first.end(frame(question("www.example.com.")));
    assert.equal((await readMessages(first, 1)).length, 1);
    second.end(frame(question("www.example.com.")));
    assert.equal((await readMessages(second, 1)).length, 1);
  });
});

const hasDig = spawnSync("dig", ["-v"]).error === undefined;

test("dig gets answers over UDP and TCP", { skip: !hasDig && "bind9-dnsutils is not installed" }, async (t) => {
  const { port } = await start(t);
  const dig = async (...words: string[]) => {
    const fixed = ["@127.0.0.1", "-p", String(port), "+tries=1", "+noall", "+answer", "+comments"];
    return (await promisify(execFile)("dig", [...fixed, ...words])).stdout;
  };
  assert.match(await dig("www.example.com", "A"), /www\.example\.com\.\s+3600\s+IN\s+A\s+192\.0\.2\.1/);
  assert.match(await dig("+tcp", "longer.example.com", "TXT"), /"a{255}" "a{255}"/);
  assert.match(await dig("longer.example.com", "TXT"), /Truncated, retrying in TCP mode[\s\S]*"a{255}"/);
  assert.match(await dig("nothing.example.com", "A"), /status: NXDOMAIN/);
  assert.match(await dig("example.net", "A"), /status: REFUSED/);
  assert.match(await dig("+edns=5", "+noednsnegotiation", "example.com", "SOA"), /status: BADVERS/);
  assert.match(await dig("+opcode=NOTIFY", "example.com", "SOA"), /status: NOTIMP/);
});
