import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WalkReport } from "#ote/report.ts";
import { steps } from "#ote/steps.ts";
import type { SandboxRegistry } from "../../sandbox/registry/server.ts";
import { first, holdingsOf, ofOutcome, second, startStage } from "./stage.ts";

const all = ["--yes", "--second-registrar", second.id, "--change-password"];

/** The tool reports each command as the registry recorded it: clTRID, sender and answer. */
function assertJournalAgrees(registry: SandboxRegistry, { results }: WalkReport): void {
  let compared = 0;
  for (const { id, frames, code, registrar, outcome } of results) {
    const clTRID = frames.findLast(({ direction }) => direction === "sent")?.xml.match(/<clTRID>(.*?)<\/clTRID>/)?.[1];
    if (clTRID === undefined) continue;
    const entry = registry.store.journal.entries({ clTRID, direction: "in" })[0];
    assert.ok(entry, `${id} arrived`);
    const isLogin = entry.command === "login";
    assert.deepEqual([entry.code, isLogin || entry.registrar], [code, isLogin || registrar], `${id} ${outcome}`);
    compared += 1;
  }
  assert.ok(compared > 30);
}

function idsSkippedFor(report: WalkReport, reason: RegExp): string[] {
  return ofOutcome(report, "skipped")
    .filter((result) => reason.test(result.reason ?? ""))
    .map(({ id }) => id);
}

describe("the walk", () => {
  test("passes at a thick registry with host objects and every extension, and leaves nothing", async (context) => {
    const { registry, report } = await startStage(context);
    const outcome = await report(...all);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode, outcome.leftovers], [[], 0, []]);
    assert.deepEqual(idsSkippedFor(outcome, /--restore-name/), ["restore-request", "restore-report"]);
    const roles = ["admin", "tech", "billing", "second-role"].map((role) => `contact-create-${role}`);
    assert.deepEqual(idsSkippedFor(outcome, /one contact serves every role/), roles);
    assert.deepEqual(idsSkippedFor(outcome, /issues no authInfo/), ["auth-info-issue", "auth-info-withdraw"]);
    assert.equal(ofOutcome(outcome, "skipped").length, 8);
    assertJournalAgrees(registry, outcome);
    assert.deepEqual(holdingsOf(registry), []);
    assert.equal(registry.store.passwords.find(first.id)?.password, first.password);
    const created = registry.store.journal.entries({ command: "domain:create", executed: true });
    assert.match(created[1]?.xml ?? "", /<secDNS:create.*<fee:create/s);
  });

  test("passes at a thin registry with host attributes and no extension, without the steps it does not support", async (context) => {
    const { registry, report } = await startStage(context, {
      dataModel: "thin",
      hostModel: "attributes",
      extensions: [],
    });
    const outcome = await report(...all);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode, outcome.leftovers], [[], 0, []]);
    const contactSteps = steps.filter(({ needs }) => needs?.dataModel).length;
    assert.equal(idsSkippedFor(outcome, /it has no contacts/).length, contactSteps);
    assert.equal(
      idsSkippedFor(outcome, /attributes of names/).length,
      steps.filter(({ needs }) => needs?.hostModel).length,
    );
    assert.equal(
      idsSkippedFor(outcome, /does not offer/).length,
      steps.filter(({ needs }) => needs?.extensionURI).length,
    );
    assertJournalAgrees(registry, outcome);
    assert.deepEqual(holdingsOf(registry), []);
  });

  test("restores a deleted name, and lists the objects that a name in redemption uses", async (context) => {
    const { registry, report } = await startStage(context, { graceDays: { add: 0 }, oldExpDateCode: 2105 });
    const outcome = await report(...all);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    const restored = outcome.results.filter(({ id }) => id.startsWith("restore-")).map(({ code }) => code);
    assert.deepEqual(restored, [1000, 1000]);
    assert.equal(outcome.goesLater.length, 2);
    const left = holdingsOf(registry);
    const names = registry.store.domains.values().map(({ name }) => `domain ${name}`);
    assert.deepEqual(new Set(outcome.goesLater), new Set(names));
    assert.ok(registry.store.domains.values().every(({ deletion }) => deletion?.stage === "redemptionPeriod"));
    assert.equal(outcome.leftovers.length, left.length - names.length);
    assert.ok(outcome.leftovers.every(({ what }) => left.includes(what.split(" ")[1] ?? "")));
  });

  test("passes where names have no contacts besides the registrant, and name servers already exist", async (context) => {
    const stage = await startStage(context, { hostModel: "objects" }, { contactTypes: [] });
    const servers = ["--name-servers", "ns1.known.net,ns2.known.net"];
    const crDate = stage.registry.now().toISOString();
    for (const number of [1, 2]) {
      const host = { name: `ns${number}.known.net`, roid: `H${number}-SBX`, statuses: [], addresses: [] };
      stage.registry.store.hosts.put({ ...host, clID: first.id, crID: first.id, crDate });
    }
    const outcome = await stage.report("--yes", "--key-data", ...servers);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    assert.deepEqual(idsSkippedFor(outcome, /knows the host already/), ["host-create", "host-create-second"]);
    assert.deepEqual(holdingsOf(stage.registry), ["ns1.known.net", "ns2.known.net"]);
    const secured = stage.registry.store.journal.entries({ command: "domain:create", executed: true })[1];
    assert.match(secured?.xml ?? "", /<secDNS:keyData>/);
  });

  test("acknowledges messages until the queue is empty", async (context) => {
    const { registry, report } = await startStage(context);
    for (const text of ["one", "two", "three"]) await registry.enqueueMessage({ registrar: first.id, text });
    const outcome = await report("--yes", "--only", "poll-ack");
    assert.equal(outcome.exitCode, 0);
    assert.equal(registry.store.messages.values().length, 0);
    assert.equal(registry.store.journal.entries({ command: "poll:ack", direction: "in", code: 1000 }).length, 3);
  });
});
