import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { type Asking, askSignedSerial, type KnownServer, NoAnswer, sendNotify, transferZone } from "#dns/client.ts";
import type { FeedKey } from "#dns/feed.ts";
import { nameToWire, wireNameText } from "#dns/names.ts";
import { parseRecordSet } from "#dns/records.ts";
import { servedZone } from "#dns/served-zone.ts";
import { startDnsServer } from "#dns/server.ts";
import { signMessage, type TsigAlgorithm, verifyTsig } from "#dns/tsig.ts";
import { classIn, parseWithEnd, WireProblem, writeMessage } from "#dns/wire.ts";
import { systemClock } from "#lib/clock.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { systemRandom } from "#lib/random.ts";
import { seed } from "../../test/properties/seed.ts";

const zoneOf = (texts: number) =>
  servedZone({
    name: "example.com",
    serial: 7,
    sets: Array.from({ length: texts }, (_, index) =>
      parseRecordSet("example.com", { subname: `t${index}`, type: "TXT", records: ["a".repeat(1_000)] }),
    ),
    managed: [],
    nameServers: ["ns1.dns.test"],
    hostmaster: "h.dns.test",
  });

const keyOf = (changes: Partial<FeedKey> = {}): FeedKey => ({
  name: "ns1.deedhouse.",
  algorithm: "hmac-sha256",
  secret: randomBytes(32),
  isFromHere: true,
  isFed: true,
  ...changes,
});

const asking: Asking = { clock: systemClock, random: systemRandom };

interface Setup {
  keys?: FeedKey[] | undefined;
  texts?: number;
  isAway?: boolean;
  nowOf?: () => number;
}

async function start(t: TestContext, { keys, texts = 3, isAway = false, nowOf }: Setup) {
  const zone = zoneOf(texts);
  const server = await startDnsServer({
    host: "127.0.0.1",
    port: 0,
    answered: parseRanges(["192.0.2.0/24"]),
    findZone: async () => undefined,
    feed: {
      keysFor: async () => {
        if (isAway) throw new Error("away");
        return keys;
      },
      findZone: async (name) => (name === zone.name ? zone : undefined),
      now: nowOf ?? (() => Math.floor(Date.now() / 1_000)),
    },
    clock: systemClock,
    log: pino({ level: "silent" }),
    limits: { refusalsMax: 100 },
  });
  t.after(() => server.close());
  const known = (key: FeedKey): KnownServer => ({ address: "127.0.0.1", port: server.port, key });
  return { port: server.port, known, zone };
}

const algorithms: TsigAlgorithm[] = ["hmac-sha256", "hmac-sha384", "hmac-sha512"];

test("a zone of many messages arrives whole, each of them signed, with every algorithm", async (t) => {
  for (const algorithm of algorithms) {
    const key = keyOf({ algorithm });
    const { known } = await start(t, { keys: [key], texts: 900 });
    const records = await transferZone(asking, known(key), "example.com");
    assert.equal(records.length, 902);
    assert.equal(wireNameText(records.at(-1)!.name), "t899.example.com.");
    assert.deepEqual(await askSignedSerial(asking, known(key), "example.com"), { serial: 7 });
  }
});

test("who has no key, another secret, another address or is not fed gets nothing", async (t) => {
  const key = keyOf();
  const refused = async (setup: Setup, given = key, zone = "example.com") => {
    const { known } = await start(t, setup);
    const error = await transferZone(asking, known(given), zone).catch((problem: unknown) => problem);
    assert.ok(error instanceof NoAnswer);
    return error.message;
  };
  assert.match(await refused({ keys: undefined }), /rcode 5.*unsigned/);
  assert.match(await refused({ keys: [] }), /rcode 9/);
  assert.match(await refused({ keys: [key] }, { ...key, secret: randomBytes(32) }), /rcode 9/);
  assert.match(await refused({ keys: [key] }, { ...key, algorithm: "hmac-sha512" }), /rcode 9/);
  assert.match(await refused({ keys: [{ ...key, isFromHere: false }] }), /rcode 5.*unsigned/);
  const closed = await refused({ keys: [{ ...key, isFed: false }] });
  assert.match(closed, /refuses the transfer/);
  assert.equal(await refused({ keys: [key] }, key, "example.net"), closed.replaceAll("example.com", "example.net"));
  assert.match(await refused({ keys: [key], isAway: true }), /rcode 2/);
});

test("a clock that is wrong gets BADTIME, signed with our time", async (t) => {
  const key = keyOf();
  const { known } = await start(t, { keys: [key], nowOf: () => Math.floor(Date.now() / 1_000) + 301 });
  await assert.rejects(transferZone(asking, known(key), "example.com"), /rcode 9/);
});

test("a message that is changed anywhere has no good signature", () => {
  const key = keyOf();
  const questions = [{ name: nameToWire("example.com."), type: 6, class: classIn }];
  const message = { id: 1, flags: 0, questions, answers: [], authority: [], additional: [] };
  const { bytes } = signMessage(writeMessage(message, 512)!, key, { at: 1_000 });
  const statusOf = (changed: Buffer) => {
    try {
      return verifyTsig(changed, parseWithEnd(changed), (name) => (name === key.name ? key : undefined), { at: 1_000 })
        .status;
    } catch (error) {
      if (error instanceof WireProblem) return "none";
      throw error;
    }
  };
  assert.equal(statusOf(bytes), "good");
  const place = fc.integer({ min: 2, max: bytes.length - 1 });
  fc.assert(
    fc.property(place, fc.integer({ min: 1, max: 255 }), (at, bits) => {
      const changed = Buffer.from(bytes);
      changed[at]! ^= bits;
      const isLetter = /[a-z]/i.test(String.fromCharCode(bytes[at]!)) && bits === 32;
      if (!isLetter) assert.notEqual(statusOf(changed), "good", `byte ${at}`);
    }),
    { seed, numRuns: 3_000 },
  );
});

const isThere = (program: string) => spawnSync(program, ["-V"]).error === undefined;

test("dig and kdig take a signed transfer", {
  skip: !(isThere("dig") && isThere("kdig")) && "dig or kdig",
}, async (t) => {
  for (const algorithm of algorithms) {
    const key = keyOf({ algorithm });
    const { port } = await start(t, { keys: [key], texts: 60 });
    const ask = async (program: string, secret: Buffer, ...words: string[]) => {
      const named = `${algorithm}:ns1.deedhouse:${secret.toString("base64")}`;
      const fixed = ["@127.0.0.1", "-p", String(port), "-y", named];
      // Both exit with an error where the transfer failed.
      const run = promisify(execFile)(program, [...fixed, ...words]);
      return run.then(
        ({ stdout, stderr }) => stdout + stderr,
        ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
      );
    };
    for (const program of ["dig", "kdig"]) {
      const answer = await ask(program, key.secret, "example.com", "AXFR");
      assert.equal(answer.match(/^t\d+\.example\.com\./gm)?.length, 60, answer);
      assert.doesNotMatch(answer, /verify failure|failed|BADSIG/i);
      assert.match(await ask(program, key.secret, "+tcp", "example.com", "SOA"), /NOERROR/);
      assert.doesNotMatch(await ask(program, randomBytes(32), "example.com", "AXFR"), /^t\d/m);
    }
  }
});

test("a NOTIFY is sent, whoever listens", async () => {
  await sendNotify(asking, { address: "127.0.0.1", port: 9, key: keyOf() }, "example.com");
});
