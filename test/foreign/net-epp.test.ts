/**
 * The sandbox under an EPP client that nobody here wrote, Debian's libnet-epp-perl. What the client says about its day
 * and what the sandbox's own store and journal hold must be the same day.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import type { JournalEntry } from "../../sandbox/registry/journal.ts";
import type { SandboxRegistry } from "../../sandbox/registry/server.ts";
import { registrars, startFor } from "../../sandbox/registry/test/setup.ts";

const run = promisify(execFile);

const isMissing = spawnSync("perl", ["-MNet::EPP::Simple", "-e", "1"]).status !== 0;
const skip = isMissing && "libnet-epp-perl is not installed";

/** A step's result code, and what its answer brought. */
type Step = [code: string, ...brought: string[]];

/** Runs a script against a registry of its own; the steps in order, and by name. */
async function dayOf(context: TestContext, script: string) {
  const registry = await startFor(context, { pendingDelayMs: 20 });
  const [account] = registrars;
  const args = [String(registry.port), registry.caFile, account?.id ?? "", account?.password ?? ""];
  const { stdout, stderr } = await run("perl", [join(import.meta.dirname, script), ...args]);
  assert.equal(stderr, "", "warnings of the client");
  const lines = stdout.trimEnd().split("\n");
  const steps = lines.map((line): [string, Step] => {
    const [name = "", code = "", ...brought] = line.split("\t");
    return [name, [code, ...brought]];
  });
  return { registry, steps, named: new Map(steps) };
}

/** The commands that changed the registry, in order. */
function executed({ store }: SandboxRegistry): string[] {
  const entries = store.journal.entries().filter((entry) => entry.executed);
  return entries.map(({ command, name }) => `${command} ${name}`);
}

/** Every frame of the client has one answer, next in its connection, with the same clTRID. */
function assertAnsweredInTurn({ store }: SandboxRegistry): void {
  const connections = Map.groupBy(store.journal.entries(), ({ connection }) => connection);
  connections.delete(undefined);
  for (const frames of connections.values()) {
    const [greeting, ...rest] = frames as [JournalEntry, ...JournalEntry[]];
    assert.equal(greeting.command, "greeting");
    for (let at = 0; at < rest.length; at += 2) {
      const [asked, answered] = [rest[at], rest[at + 1]];
      assert.deepEqual([asked?.direction, answered?.direction], ["in", "out"]);
      assert.deepEqual([asked?.clTRID, asked?.code], [answered?.clTRID, answered?.code]);
    }
  }
}

/** What the registry keeps of a contact's postal addresses: type, name and city. */
function assertPostalInfo({ store }: SandboxRegistry, id: string, expected: string[][]): void {
  const kept = store.contacts.find(id)?.postalInfo.map(({ type, name, city }) => [type, name, city]);
  assert.deepEqual(kept?.sort(), expected);
}

/** The renewal bought one year, and one only. */
function assertOneYearLater(before: string, after: string): void {
  const expected = new Date(before);
  expected.setUTCFullYear(expected.getUTCFullYear() + 1);
  assert.equal(new Date(after).toISOString().slice(0, 10), expected.toISOString().slice(0, 10));
}

/** The commands of that script that change the registry. */
const changesOfSimple = [
  "contact:create perl-owner",
  "contact:create perl-admin",
  "host:create ns1.elsewhere.invalid",
  "host:create ns2.elsewhere.invalid",
  "domain:create perl.test",
  "host:create ns1.perl.test",
  "domain:renew perl.test",
  "domain:update perl.test",
  "domain:update perl.test",
  "host:delete ns1.perl.test",
  "host:delete ns2.elsewhere.invalid",
  "domain:delete perl.test",
];

test("Net::EPP::Simple registers, renews and deletes a name at the sandbox", { skip }, async (context) => {
  const { registry, steps, named } = await dayOf(context, "net-epp-simple.pl");
  const [before = "", after = ""] = named.get("domain info after renewal")?.slice(1) ?? [];
  assert.deepEqual(steps, [
    ["other authorities", ["2400", "certificate verify failed"]],
    ["login", ["1000", "Deedhouse sandbox registry"]],
    ["check domain", ["1000", "1"]],
    ["create contact", ["1000", "1"]],
    ["create contact", ["1000", "1"]],
    ["check contact", ["1000", "0"]],
    [
      "contact info",
      [
        "1000",
        "perl-owner",
        "zoe@perl.test",
        "+32.91234567",
        "contact-auth",
        "gate-one",
        "Zoë Müller",
        "Müller & Zönen",
      ],
    ],
    ["check host", ["1000", "1"]],
    ["create host", ["1000", "1"]],
    ["create host", ["1000", "1"]],
    ["create domain", ["1000", "1"]],
    ["create domain again", ["2302", ""]],
    ["check domain again", ["1000", "0"]],
    [
      "domain info",
      ["1000", "perl.test", "domain-auth", "gate-one", "perl-owner", "perl-admin", "ns1.elsewhere.invalid"],
    ],
    ["create host below", ["1000", "1"]],
    ["host info", ["1000", "192.0.2.1", "2001:db8::1"]],
    ["renew", ["1000", "1"]],
    ["renew again with the old date", ["2004", ""]],
    ["domain info after renewal", ["1000", before, after]],
    ["update domain", ["1000", "1"]],
    ["domain info after update", ["1000", "domain-auth-2", "clientHold", "ns1.perl.test", "ns2.elsewhere.invalid"]],
    // The schema's word on what the client writes; the script says what.
    ["update contact", ["2001", ""]],
    ["delete a contact in use", ["2305", ""]],
    ["delete a host in use", ["2305", ""]],
    ["take the hosts off", ["1000", "1"]],
    ["delete host", ["1000", "1"]],
    ["delete host", ["1000", "1"]],
    ["delete domain", ["1000", "1"]],
    ["ping", ["", "1"]],
    ["logout", ["", "1"]],
  ]);
  assertOneYearLater(before, after);
  assert.deepEqual(executed(registry), changesOfSimple);
  assert.equal(registry.store.domains.find("perl.test"), undefined);
  assertPostalInfo(registry, "perl-owner", [
    ["int", "Zoe Muller", "Gent"],
    ["loc", "Zoë Müller", "Gent — Ĝ日本"],
  ]);
  assertAnsweredInTurn(registry);
});

test("frames of Net::EPP::Frame register, renew, poll and delete at the sandbox", { skip }, async (context) => {
  const { registry, steps, named } = await dayOf(context, "net-epp-frames.pl");
  const [before = "", after = ""] = named.get("renew")?.slice(1) ?? [];
  assert.deepEqual(steps, [
    ["login", ["1000"]],
    ["check domains", ["1000", "frame.test=1", "taken-frame.test=0"]],
    ["create contact", ["1000"]],
    ["update contact", ["1000"]],
    ["create domain", ["1000", "frame.test"]],
    ["create domain again", ["2302"]],
    ["create a name that another holds", ["2302"]],
    ["create a name that is decided later", ["1001"]],
    ["domain info", ["1000", "gate-one", "domain-auth"]],
    ["renew", ["1000", before, after]],
    ["renew again with the old date", ["2004"]],
    ["poll", ["1301", "pending-approve-frame.test", "1"]],
    ["acknowledge", ["1000"]],
    ["poll again", ["1300"]],
    ["delete domain", ["1000"]],
    ["hello", ["", "greeting"]],
    ["logout", ["1500"]],
  ]);
  assertOneYearLater(before, after);
  assert.deepEqual(executed(registry), [
    "contact:create perl-frames",
    "contact:update perl-frames",
    "domain:create frame.test",
    "domain:create pending-approve-frame.test",
    "domain:renew frame.test",
    "domain:delete frame.test",
  ]);
  assert.deepEqual(
    registry.store.domains
      .values()
      .filter(({ clID }) => clID === "gate-one")
      .map(({ name }) => name),
    ["pending-approve-frame.test"],
  );
  assert.equal(registry.store.contacts.find("perl-frames")?.email, "ada@frames.test");
  assert.deepEqual(registry.store.messages.values(), []);
  assertAnsweredInTurn(registry);
});
