import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { chosenIds, requireStep } from "#ote/plan.ts";
import { steps } from "#ote/steps.ts";
import { hostNamespace, secDnsNamespace } from "#registry/epp/namespaces.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { runTool } from "../harness/running-system.ts";
import { first, heldFor, holdingsOf, ofOutcome, second, startStage } from "./stage.ts";

const withSecond = ["--second-registrar", second.id];

describe("deedhouse ote", () => {
  for (const dataModel of ["thick", "thin"] as const) {
    for (const hostModel of ["objects", "attributes"] as const) {
      test(`--dry-run shows valid frames of every step at a ${dataModel} registry with host ${hostModel}`, async (context) => {
        const { registry, report } = await startStage(context, { dataModel, hostModel });
        const outcome = await report("--dry-run", "--change-password", "--secrets", ...withSecond);
        assert.equal(outcome.exitCode, 0);
        const validate = await loadFrameValidator();
        const unsent = ofOutcome(outcome, "unsent");
        for (const { id, frames } of unsent) {
          assert.ok(frames.length > 0, `${id} has a frame`);
          for (const { xml } of frames) validate(xml);
        }
        const withoutContacts = steps.filter(({ needs }) => dataModel === "thin" && needs?.dataModel);
        const withoutHosts = steps.filter(({ needs }) => hostModel === "attributes" && needs?.hostModel);
        const otherContacts = steps.filter(({ needs }) => dataModel === "thick" && needs?.ownContactOf);
        const ofFamilies = steps.filter(({ needs }) => needs?.authInfo === "issued");
        const excluded = [...withoutContacts, ...withoutHosts, ...otherContacts, ...ofFamilies];
        assert.equal(unsent.length, steps.length - excluded.length);
        assert.deepEqual(registry.store.journal.entries(), []);
      });
    }
  }

  test("shows and writes no secret without --secrets", async (context) => {
    const { registry, folder, launch } = await startStage(context);
    for (const shows of [false, true]) {
      const out = join(folder, `frames-${shows}`);
      const hold = registry.hold({ command: "domain:renew", at: "before-execution", times: 1 });
      const tool = launch("--yes", "--change-password", ...withSecond, "--out", out, ...(shows ? ["--secrets"] : []));
      await heldFor(tool.ended, hold);
      const authInfos = registry.store.domains.values().map(({ authInfo }) => authInfo);
      const secrets = [first.password, second.password, ...new Set(authInfos)];
      assert.equal(secrets.length, 4, "the first authInfo and the new one");
      hold.release();
      const { code, stdout, stderr } = await tool.ended;
      assert.equal(code, 0);
      const files = await Promise.all((await readdir(out)).map((name) => readFile(join(out, name), "utf8")));
      const written = [stdout, files.join("\n")];
      for (const secret of secrets) {
        assert.deepEqual(
          written.map((text) => text.includes(secret)),
          [shows, shows],
        );
        assert.ok(!stderr.includes(secret));
      }
    }
  });

  test("writes each frame and a transcript into a folder that only its owner can read", async (context) => {
    const { folder, run } = await startStage(context);
    const out = join(folder, "certification");
    const { code, stdout } = await run("--yes", "--only", "contact-check", "--out", out);
    assert.equal(code, 0);
    assert.match(
      stdout,
      /contact-check: .*RFC 5733 §3\.1\.1.*\n {5}contact:check by gate-one; expected 1000, got 1000/,
    );
    assert.match(await readFile(join(out, "02-contact-check-sent.xml"), "utf8"), /<contact:check /);
    assert.match(await readFile(join(out, "02-contact-check-received.xml"), "utf8"), /<contact:chkData /);
    assert.match(
      await readFile(join(out, "transcript.md"), "utf8"),
      /^# Certification test of nic\n.*```xml.*## Summary/s,
    );
    assert.equal((await stat(out)).mode & 0o777, 0o700);
    assert.equal((await stat(join(out, "transcript.md"))).mode & 0o777, 0o600);
    const again = await run("--yes", "--only", "hello", "--out", out);
    assert.equal(again.code, 2);
    assert.match(again.stderr, /is not empty/);
  });

  test("runs chosen steps and those they build on, accepts other expected codes, and keeps objects with --keep", async (context) => {
    const { registry, report } = await startStage(context, { oldExpDateCode: 2105, dataModel: "thin" });
    const outcome = await report(
      "--yes",
      "--keep",
      "--label",
      "kept",
      "--suffix",
      "example",
      "--only",
      "domain-renew-again",
      "--expect",
      "domain-renew-again=2105",
      "--expect",
      "domain-create=1000",
    );
    assert.equal(outcome.exitCode, 0);
    const sent = ofOutcome(outcome, "ok").map(({ id }) => id);
    assert.deepEqual(sent, [
      "login",
      "domain-check-free",
      "domain-create",
      "domain-renew",
      "domain-renew-again",
      "logout",
    ]);
    assert.deepEqual(holdingsOf(registry), ["kept.example"]);
    assert.deepEqual(outcome.leftovers, [{ what: "domain kept.example", why: "kept" }]);
    const wrong = await report("--yes", "--only", "hello,domain-check-free", "--expect", "domain-check-free=2001");
    assert.deepEqual([wrong.exitCode, ofOutcome(wrong, "failed").map(({ id }) => id)], [1, ["domain-check-free"]]);
  });

  test("lists the steps, and which of them apply to the registry, without a login", async (context) => {
    const { registry, run } = await startStage(context, { extensions: ["secDNS"] });
    const { code, stdout } = await run("--list", "--json", "--skip", "poll-ack");
    const rows: { step: string; here: string }[] = JSON.parse(stdout);
    const here = (id: string) => rows.find(({ step }) => step === id)?.here;
    assert.equal(code, 0);
    assert.deepEqual(
      rows.map(({ step }) => step),
      steps.map(({ id }) => id),
    );
    assert.deepEqual([here("domain-create"), here("sec-dns-add"), here("poll-ack")], ["yes", "yes", "not chosen"]);
    assert.match(here("restore-request") ?? "", /does not offer rgp/);
    registry.pause();
    const unreachable = await run("--list");
    assert.equal(unreachable.code, 0);
    assert.match(unreachable.stdout, /restore-request .* if the registry offers rgp/);
  });

  test("lists the steps that the profile excludes, whatever the registry offers", async (context) => {
    const withoutServices = [hostNamespace, secDnsNamespace];
    const { run } = await startStage(context, {}, { withoutServices });
    const rows: { step: string; here: string }[] = JSON.parse((await run("--list", "--json")).stdout);
    const here = (id: string) => rows.find(({ step }) => step === id)?.here;
    assert.match(here("host-create") ?? "", /the profile leaves hosts out/);
    assert.match(here("sec-dns-add") ?? "", /the profile leaves secDNS .* out/);
    assert.equal(here("restore-request"), "yes");
  });

  test("does not ask before a run that only logs in, because it changes nothing", async (context) => {
    const { run } = await startStage(context);
    const { code, stdout } = await run("--only", "login,hello");
    assert.equal(code, 0);
    assert.match(stdout, /^3 ok, 0 failed$/m);
  });

  test("reports only the chosen steps and those they build on, also in a dry run", async (context) => {
    const { report } = await startStage(context);
    const outcome = async (...args: string[]) => (await report(...args)).results.map(({ id }) => id);
    const only = ["--only", "contact-info"];
    const taken = ["login", "contact-check", "contact-create", "contact-info", "logout"];
    assert.deepEqual(await outcome("--dry-run", ...only), taken);
    assert.deepEqual(await outcome("--yes", ...only), taken.toSpliced(-1, 0, "clean-up"));
  });

  test("skips steps that build on an excluded step, and says why", async (context) => {
    const { report } = await startStage(context);
    const { results } = await report("--yes", "--skip", "contact-create");
    const info = results.find(({ id }) => id === "contact-info");
    assert.deepEqual([info?.outcome, info?.reason], ["skipped", "it builds on contact-create, which was not chosen"]);
  });

  test("sends nothing without a terminal to confirm on, and says what is wrong with its options", async (context) => {
    const { registry, run, profilesFile } = await startStage(context);
    const unasked = await run();
    assert.equal(unasked.code, 2);
    assert.match(
      unasked.stderr,
      /127\.0\.0\.1:\d+.*gate-one.*dh-ote-[0-9a-f]{6}\.test.*no confirmation is possible.*--yes/s,
    );
    const mistakes: [RegExp, ...string[]][] = [
      [/there is no step nonsense/, "--only", "nonsense"],
      [/there is no step nonsense/, "--expect", "nonsense=1000"],
      [/does not sell com/, "--suffix", "com"],
      [/must differ from the first/, "--second-registrar", first.id],
      [/only at the profile's host/, "--change-password", "--port", "700"],
      [/label/, "--label", "-x"],
      [/result codes/, "--expect", "login"],
    ];
    const runs = await Promise.all(mistakes.map(([, ...args]) => run("--yes", ...args)));
    for (const [index, [sentence]] of mistakes.entries()) {
      assert.deepEqual([runs[index]?.code, sentence.test(runs[index]?.stderr ?? "")], [2, true], String(sentence));
    }
    const unknown = await runTool(["ote", "other", "--registries", profilesFile]);
    assert.deepEqual([unknown.code, /has no registry other/.test(unknown.stderr)], [2, true]);
    assert.deepEqual(registry.store.journal.entries(), []);
  });
});

test("every step builds on steps that come before it", () => {
  const seen = new Set<string>();
  for (const { id, buildsOn = [] } of steps) {
    for (const base of buildsOn) assert.ok(seen.has(requireStep(base).id), `${id} builds on ${base}`);
    assert.ok(!seen.has(id), `${id} is there once`);
    seen.add(id);
  }
});

test("--from selects a step, all later ones, and those they build on; --skip excludes steps", () => {
  const chosen = chosenIds({ from: "domain-delete-delegated", skip: ["domain-delete", "domain-info-deleted"] });
  assert.ok(["login", "domain-check-several", "domain-create-delegated", "logout"].every((id) => chosen.has(id)));
  assert.ok(["hello", "domain-delete", "domain-info-deleted", "poll-request"].every((id) => !chosen.has(id)));
});
