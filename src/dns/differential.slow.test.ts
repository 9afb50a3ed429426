/** Random zones and questions: Knot and this server give the same answers. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { zoneNamesFor } from "#dns/names.ts";
import { parseRecordSet, RecordProblem, type RecordSet } from "#dns/records.ts";
import { checkZone } from "#dns/rules.ts";
import { type ServedZone, servedZone } from "#dns/served-zone.ts";
import { startDnsServer } from "#dns/server.ts";
import { whyWithout } from "#dns/test-programs.ts";
import { printZoneFile } from "#dns/zone-file.ts";
import { systemClock } from "#lib/clock.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { freePorts } from "../../test/harness/free-ports.ts";
import { seed } from "../../test/properties/seed.ts";

const zoneCount = 150;
const questionsOfZone = 50;
const nameServers = ["ns1.dns.test", "ns2.dns.test"];

/** Few labels, so that names meet: closest enclosers, names between, wildcards, and names below delegations. */
const path = (lengthMax: number) => fc.array(fc.constantFrom("a", "b", "c"), { maxLength: lengthMax });
const owner = fc
  .tuple(fc.boolean(), path(3))
  .map(([isWildcard, labels]) => (isWildcard ? ["*", ...labels] : labels).join(".") || "@");
const inZone = (labels: readonly string[], zone: string) => [...labels, zone].join(".");

type Candidate = (zone: string) => { subname: string; type: string; ttl: number; records: string[] }[];
const candidate: fc.Arbitrary<Candidate> = fc
  .tuple(
    owner,
    fc.constantFrom("A", "AAAA", "TXT", "MX", "NS", "NS", "CNAME", "CNAME", "CNAME"),
    path(3),
    fc.boolean(),
    fc.integer({ min: 60, max: 900 }),
  )
  .map(([subname, type, labels, isOutside, ttl]) => (zone) => {
    const target = isOutside ? "host.other.test" : inZone(labels, zone);
    const texts: Record<string, string> = { A: "192.0.2.1", AAAA: "2001:db8::1", TXT: "text", MX: `10 ${target}` };
    const sets = [{ subname, type, ttl, records: [texts[type] ?? target] }];
    if (type !== "NS" || isOutside) return sets;
    const glue = { subname: `ns.${subname}`, type: "A", ttl, records: ["192.0.2.53"] };
    const ds = { subname, type: "DS", ttl, records: [`1 13 2 ${"00".repeat(32)}`] };
    return [{ subname, type, ttl, records: [`ns.${subname}.${zone}`] }, glue, ds];
  });
const question = fc.tuple(
  fc.tuple(fc.constantFrom<string[][]>([], [], [], ["*"], ["ns"], ["a\\.b"]), path(4)).map((parts) => parts.flat()),
  fc.constantFrom("A", "A", "TXT", "CNAME", "MX", "NS", "DS", "SOA", "AAAA"),
);

/** Takes the candidates that the zone has room for. */
function zoneOf(name: string, candidates: readonly Candidate[]): ServedZone {
  let sets: RecordSet[] = [];
  for (const make of candidates) {
    try {
      const more = [...sets, ...make(name).map((set) => parseRecordSet(name, set))];
      checkZone(name, more);
      sets = more;
    } catch (error) {
      if (!(error instanceof RecordProblem)) throw error;
    }
  }
  return servedZone({ name, serial: 1, sets, managed: [], nameServers, hostmaster: "h.dns.test" });
}

async function startKnot(t: TestContext, zones: readonly ServedZone[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-knot-"));
  const [port = 0] = await freePorts(1);
  const lines = zones.map(({ name, sets }) => {
    const soa = sets[0]!.records[0]!;
    writeFileSync(join(folder, name), printZoneFile(name, sets.slice(2) as RecordSet[], { soa, nameServers }));
    return `  - domain: ${name}\n    file: ${join(folder, name)}\n    journal-content: none\n    semantic-checks: on\n`;
  });
  const head = `server:\n  rundir: ${folder}\n  listen: 127.0.0.1@${port}\ndatabase:\n  storage: ${folder}\n`;
  const log = "log:\n  - target: stderr\n    any: warning\n";
  writeFileSync(join(folder, "knot.conf"), `${head}${log}zone:\n${lines.join("")}`);
  const knot = spawn("knotd", ["-c", join(folder, "knot.conf")], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(knot, "exit");
  t.after(async () => {
    knot.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true });
  });
  await untilListening(port, ended);
  return port;
}

async function untilListening(port: number, ended: Promise<unknown>): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const opened = once(socket, "connect").then(
      () => "open",
      () => "closed",
    );
    const state = await Promise.race([opened, ended.then(() => "ended")]);
    socket.destroy();
    if (state === "open") return;
    assert.notEqual(state, "ended", "knotd has ended");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function startOurs(t: TestContext, zones: readonly ServedZone[]): Promise<number> {
  const byName = new Map(zones.map((zone) => [zone.name, zone]));
  const server = await startDnsServer({
    host: "127.0.0.1",
    port: 0,
    answered: parseRanges(["127.0.0.0/8"]),
    findZone: async (name) => zoneNamesFor(name).flatMap((zone) => byName.get(zone) ?? [])[0],
    clock: systemClock,
    log: pino({ level: "silent" }),
  });
  t.after(() => server.close());
  return server.port;
}

/** Knot repeats the first CNAME of a circle that goes through a wildcard. */
const isFirst = (line: string, index: number, sorted: readonly string[]) => sorted[index - 1] !== line;

/** What kdig shows of each answer: status, AA, and the sections, whose order does not matter. */
async function ask(port: number, questions: readonly (readonly [string, string])[]): Promise<string[]> {
  const options = ["@127.0.0.1", "-p", String(port), "+norec", "+edns=0", "+bufsize=1232", "+nostats"];
  const { stdout } = await promisify(execFile)("kdig", [...options, ...questions.flat()], { maxBuffer: 2 ** 26 });
  return stdout
    .split(/^;; ->>HEADER<<-/m)
    .slice(1)
    .map((answer) => {
      const status = /status: (\w+)/.exec(answer)?.[1];
      const flags = /Flags: ([^;]*);/.exec(answer)?.[1]?.trim();
      const section = (name: string) =>
        (new RegExp(`${name} SECTION:\n([^;]*?)\n\n`).exec(`${answer}\n\n`)?.[1] ?? "")
          .split("\n")
          .sort()
          .filter(isFirst);
      // Knot also adds the addresses of hosts in an answer, which are not glue.
      const glue = flags === "qr" ? section("ADDITIONAL") : [];
      const sections = { answer: section("ANSWER"), authority: section("AUTHORITY"), glue };
      return JSON.stringify(Object.assign({ status, flags }, sections), null, 1);
    });
}

const skip = whyWithout("knot", "knotd") || whyWithout("knot-dnsutils", "kdig");

test("every answer is Knot's", { skip }, async (t) => {
  const zones = fc
    .sample(fc.array(candidate, { minLength: 5, maxLength: 25 }), { numRuns: zoneCount, seed })
    .map((candidates, index) => zoneOf(`zone-${index}.example.com`, candidates));
  const [knot, ours] = [await startKnot(t, zones), await startOurs(t, zones)];
  const statuses = new Set<string>();
  for (const [index, zone] of zones.entries()) {
    const drawn = fc.sample(question, { numRuns: questionsOfZone, seed: seed + index });
    const questions = drawn.map(([labels, type]) => [`${inZone(labels, zone.name)}.`, type] as const);
    const [theirs, own] = [await ask(knot, questions), await ask(ours, questions)];
    assert.equal(theirs.length, questions.length);
    for (const [place, asked] of questions.entries()) {
      const file = () => printZoneFile(zone.name, zone.sets as RecordSet[], { soa: "", nameServers: [] });
      assert.equal(own[place], theirs[place], `${asked.join(" ")} in\n${own[place] === theirs[place] ? "" : file()}`);
      statuses.add(`${JSON.parse(own[place]!).status} ${JSON.parse(own[place]!).flags}`);
    }
  }
  assert.deepEqual([...statuses].sort(), ["NOERROR qr", "NOERROR qr aa", "NXDOMAIN qr aa"]);
});
