/** Walks at registries with rules and extensions of their own, as far as the sandbox plays them (its setting `family`). */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WalkReport } from "#ote/report.ts";
import { heldFor, holdingsOf, ofOutcome, second, startStage } from "./stage.ts";

const eurid = [{ family: "eurid" }, { flavour: "eurid" }] as const;
const daysOfQuarantine = 40;
const dayMs = 86_400_000;

/** The reasons of skipped steps, each with its steps. */
function skippedFor(report: WalkReport): Record<string, string[]> {
  const reasons: Record<string, string[]> = {};
  for (const { id, reason = "" } of ofOutcome(report, "skipped")) reasons[reason] = [...(reasons[reason] ?? []), id];
  return reasons;
}

const sentBy = ({ results }: WalkReport, id: string) =>
  results.find((result) => result.id === id)?.frames.find(({ direction }) => direction === "sent")?.xml ?? "";

describe("a walk at EURid's family", () => {
  test("passes every step but those whose command the registry does not have", async (context) => {
    const { registry, report } = await startStage(context, ...eurid);
    const outcome = await report("--yes", "--second-registrar", second.id, "--change-password");
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    const { "name servers are attributes of names here": ofHosts, ...reasons } = skippedFor(outcome);
    assert.ok(ofHosts?.every((id) => id.startsWith("host-")));
    const noTransfer = "the registry has no query or rejection of transfers, so a test could not end one";
    const statuses = { Hold: ["hold-on", "hold-off"], TransferProhibited: ["transfer-lock-on", "transfer-lock-off"] };
    assert.deepEqual(reasons, {
      "the registry chooses the ids of contacts, and has no check of them": ["contact-check", "contact-check-several"],
      "the registry chooses the ids of contacts": ["contact-create-again"],
      "names have no admin contact here": ["contact-create-admin"],
      "the registry does not offer fee (RFC 8748)": ["fee-check"],
      "the registry does not offer rgp (RFC 3915)": ["restore-request", "restore-report"],
      "a registrar cannot set clientHold here": statuses.Hold,
      "a registrar cannot set clientTransferProhibited here": statuses.TransferProhibited,
      "a registrar cannot set clientDeleteProhibited here": [
        "delete-lock-on",
        "domain-delete-locked",
        "delete-lock-off",
      ],
      "the authInfo of names is not the registrar's to set here": ["auth-info-change", "auth-info-see"],
      [noTransfer]: ["-request", "-query", "-cancel", "-request-again", "-reject"].map((end) => `transfer${end}`),
      "there is no message": ["poll-ack"],
    });
    const types = registry.store.journal
      .entries({ command: "contact:create", executed: true })
      .map(({ xml = "" }) => /type>(\w+)</.exec(xml)?.[1]);
    assert.deepEqual(types, ["registrant", "registrant", "tech", "billing", "tech"]);
  });

  test("uses the ids that the registry gives contacts, and removes the contacts that no name in quarantine uses", async (context) => {
    const { registry, report } = await startStage(context, ...eurid);
    const outcome = await report("--yes");
    const names = registry.store.domains.values();
    const used = new Set(
      names.flatMap(({ registrant = "", contacts }) => [registrant, ...contacts.map(({ id }) => id)]),
    );
    assert.deepEqual(new Set(outcome.goesLater), new Set(names.map(({ name }) => `domain ${name}`)));
    assert.deepEqual(
      new Set(outcome.leftovers.map(({ what }) => what)),
      new Set([...used].map((id) => `contact ${id}`)),
    );
    assert.deepEqual(new Set(registry.store.contacts.values().map(({ id }) => id)), used);
    assert.ok(outcome.leftovers.every(({ why }) => why === "in use by a name that is deleted later"));
    await registry.advance((daysOfQuarantine + 1) * dayMs);
    assert.deepEqual(registry.store.domains.values(), []);
  });

  test("removes the contacts that it created when the registration of the name is refused", async (context) => {
    const { registry, report } = await startStage(context, ...eurid);
    const outcome = await report("--yes", "--label", "code-2306-exam", "--skip", "domain-create-delegated");
    assert.deepEqual([ofOutcome(outcome, "failed").map(({ id }) => id), outcome.exitCode], [["domain-create"], 1]);
    assert.deepEqual([holdingsOf(registry), outcome.leftovers], [[], []]);
  });

  test("names a contact whose answer was lost, because only the registry knows its id", async (context) => {
    const { registry, report } = await startStage(context, ...eurid);
    const hold = registry.hold({ command: "contact:create", at: "before-answer", times: 1 });
    const walk = report("--yes", "--only", "contact-create", "--label", "exam");
    await heldFor(walk, hold);
    registry.closeSessions();
    await hold.abandoned(1);
    hold.release();
    const { leftovers } = await walk;
    assert.deepEqual(leftovers, [{ what: "contact that was to be exam-1", why: "only the registry knows its id" }]);
  });

  test("shows in a dry run what the family's extensions add to each frame", async (context) => {
    const { registry, report } = await startStage(context, ...eurid);
    const outcome = await report("--dry-run", "--secrets");
    assert.match(sentBy(outcome, "login"), /contact-ext-1\.4<.*domain-ext-2\.6<.*authInfo-1\.1</);
    assert.match(sentBy(outcome, "contact-create"), /postalInfo type="loc".*type>registrant<.*naturalPerson>false</);
    assert.match(sentBy(outcome, "contact-create-tech"), /type>tech</);
    assert.match(sentBy(outcome, "contact-update"), /postalInfo type="loc"/);
    assert.match(sentBy(outcome, "domain-create"), /<domain:pw\/>/);
    assert.match(sentBy(outcome, "auth-info-issue"), /authInfo-1\.1"><[^>]*request\/>/);
    assert.deepEqual(registry.store.journal.entries({ direction: "in", command: "contact:create" }), []);
  });
});

describe("a walk at DNS Belgium's family", () => {
  test("passes every step but those whose command the registry does not have", async (context) => {
    const profile = { flavour: "dnsbe", registrarContacts: { billing: "c101" } };
    const { registry, report } = await startStage(context, { family: "dnsbe" }, profile);
    const outcome = await report("--yes", "--second-registrar", second.id);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    const reasons = skippedFor(outcome);
    assert.deepEqual(reasons["an update cannot change the registrant here"], [
      "domain-registrant",
      "domain-registrant-back",
    ]);
    assert.deepEqual(reasons["the registry has no renew command"], ["domain-renew", "domain-renew-again"]);
    const locks = outcome.results.filter(({ id }) => id.startsWith("transfer-lock"));
    assert.deepEqual(
      locks.map(({ outcome: is }) => is),
      ["ok", "ok"],
    );
    const created = registry.store.journal.entries({ command: "domain:create", executed: true });
    assert.ok(created.every(({ xml = "" }) => xml.includes('<domain:contact type="billing">c101<')));
    assert.ok(registry.store.contacts.find("c101"));
  });
});

describe("a walk at SIDN's family", () => {
  test("passes every step but those whose command the registry does not have", async (context) => {
    const { report } = await startStage(context, { family: "sidn" }, { flavour: "sidn" });
    const outcome = await report("--yes", "--second-registrar", second.id);
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    const reasons = skippedFor(outcome);
    const noRestore = "a deleted name comes back by a command of the registry's own, which is not sent yet";
    assert.deepEqual(reasons[noRestore], ["restore-request", "restore-report"]);
    assert.deepEqual(reasons["commands give no period in years here"], ["mistake-range"]);
    assert.equal(outcome.results.find(({ id }) => id === "host-create-below")?.outcome, "ok");
  });
});

describe("a walk at a registry with rules of its own", () => {
  test("sends the fields of contacts that the profile lists, and asks for a required one", async (context) => {
    const element = '<t:create xmlns:t="urn:example:taxNumber-1.0"><t:taxNumber>{value}</t:taxNumber></t:create>';
    const field = { name: "tax_number", pattern: "[A-Z]{2}[0-9]{6,12}", required: true, element };
    const { run, report, registry } = await startStage(
      context,
      { extensions: ["taxNumber"] },
      { contactFields: [field] },
    );
    const only = ["--yes", "--only", "contact-info"];
    for (const [args, mistake] of [
      [[], /contacts need the field tax_number.*--contact-field tax_number=VALUE/s],
      [["--contact-field", "tax_number=12"], /the profile's pattern does not allow the value/],
      [["--contact-field", "vat=12"], /the profile has no contact field vat/],
      [["--contact-field", "12"], /a field and its value/],
    ] as const) {
      const { code, stderr } = await run(...only, ...args);
      assert.deepEqual([code, mistake.test(stderr)], [2, true], stderr);
    }
    const outcome = await report(...only, "--contact-field", "tax_number=DE123456");
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    assert.match(sentBy(outcome, "contact-create"), /taxNumber>DE123456</);
    assert.deepEqual(holdingsOf(registry), []);
  });

  test("leaves out the commands that the profile says the registry does not have", async (context) => {
    const profile = { renew: "none", period: "none", registrantChange: "forbidden", secDns: "none" } as const;
    const settings = { renewCommand: false, period: "none" } as const;
    const { registry, report } = await startStage(context, settings, profile);
    const outcome = await report("--yes");
    assert.deepEqual([ofOutcome(outcome, "failed"), outcome.exitCode], [[], 0]);
    const reasons = skippedFor(outcome);
    assert.deepEqual(reasons["the registry has no renew command"], ["domain-renew", "domain-renew-again"]);
    assert.deepEqual(reasons["commands give no period in years here"], ["mistake-range"]);
    assert.deepEqual(reasons["an update cannot change the registrant here"], [
      "domain-registrant",
      "domain-registrant-back",
    ]);
    assert.equal(reasons["the profile says that the registry has no DNSSEC (secDns)"]?.length, 3);
    assert.deepEqual(holdingsOf(registry), []);
  });
});
