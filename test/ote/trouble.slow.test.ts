import assert from "node:assert/strict";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type LaunchedTool, runTool } from "../harness/running-system.ts";
import { first, heldFor, holdingsOf, ofOutcome, startStage } from "./stage.ts";

const failedIds = (report: Parameters<typeof ofOutcome>[0]) => ofOutcome(report, "failed").map(({ id }) => id);

describe("a walk in trouble", () => {
  test("reports a refusal, skips the steps that build on it, continues with the rest and cleans up", async (context) => {
    const { registry, report } = await startStage(context);
    const outcome = await report("--yes", "--label", "code-2306-exam");
    assert.equal(outcome.exitCode, 1);
    const create = outcome.results.find(({ id }) => id === "domain-create");
    assert.deepEqual([create?.outcome, create?.code], ["failed", 2306]);
    assert.match(create?.reason ?? "", /expected 1000 or 1001, got 2306/);
    const renew = outcome.results.find(({ id }) => id === "domain-renew");
    assert.match(renew?.reason ?? "", /builds on domain-create, which failed/);
    assert.equal(outcome.results.find(({ id }) => id === "host-info")?.outcome, "ok");
    assert.equal(outcome.results.at(-1)?.id, "logout");
    assert.deepEqual([holdingsOf(registry), outcome.leftovers], [[], []]);
  });

  test("removes a name whose registration was never answered", async (context) => {
    const { registry, report } = await startStage(context);
    const outcome = await report("--yes", "--label", "drop-after-exam");
    assert.equal(outcome.exitCode, 1);
    assert.deepEqual(failedIds(outcome).slice(0, 1), ["domain-create"]);
    assert.equal(registry.store.journal.entries({ command: "domain:create", executed: true }).length, 2);
    assert.deepEqual([holdingsOf(registry), outcome.leftovers], [[], []]);
  });

  for (const [what, step, point] of [
    ["a change of name servers that never arrived", "domain-servers-change", "before-execution"],
    ["a change of name servers that was made", "domain-servers-change", "before-answer"],
    ["a removal of name servers that was made", "domain-servers-remove", "before-answer"],
  ] as const) {
    test(`removes everything after the lost answer to ${what}`, async (context) => {
      const { registry, report } = await startStage(context);
      const updates = ["domain-servers-add", "domain-servers-change", "domain-servers-remove"];
      const holds = updates
        .slice(0, updates.indexOf(step) + 1)
        .map(() => registry.hold({ command: "domain:update", at: point, times: 1 }));
      const walk = report("--yes", "--only", step);
      for (const hold of holds) {
        await heldFor(walk, hold);
        if (hold === holds.at(-1)) {
          registry.closeSessions();
          await hold.abandoned(1);
        }
        hold.release({ execute: false });
      }
      const outcome = await walk;
      assert.equal(outcome.exitCode, 1);
      assert.equal(failedIds(outcome)[0], step);
      assert.deepEqual([holdingsOf(registry), outcome.leftovers], [[], []]);
    });
  }

  test("repeats a removal when its answer is lost", async (context) => {
    const { registry, report } = await startStage(context);
    const hold = registry.hold({ command: "contact:delete", at: "before-answer", times: 1 });
    const walk = report("--yes", "--only", "contact-create");
    await heldFor(walk, hold);
    registry.closeSessions();
    await hold.abandoned(1);
    hold.release();
    const outcome = await walk;
    assert.deepEqual([holdingsOf(registry), outcome.leftovers, failedIds(outcome)], [[], [], []]);
  });

  test("touches no name that existed before", async (context) => {
    const { registry, report } = await startStage(context);
    await registry.seed([{ name: "shop.test", registrar: first.id }]);
    const outcome = await report("--yes", "--label", "shop");
    assert.equal(outcome.exitCode, 1);
    assert.deepEqual(failedIds(outcome), ["domain-check-free"]);
    assert.deepEqual(holdingsOf(registry), ["shop.test"]);
    const touched = registry.store.journal.entries({ name: "shop.test", executed: true });
    assert.deepEqual(touched, []);
  });

  test("does not try a second login after a refused one", async (context) => {
    const { registry, report } = await startStage(context, {}, { password: "wrong-password" });
    const outcome = await report("--yes");
    assert.deepEqual([outcome.exitCode, failedIds(outcome)], [1, ["login"]]);
    assert.equal(outcome.results[0]?.code, 2200);
    assert.equal(registry.store.journal.entries({ command: "login", direction: "in" }).length, 1);
  });

  test("reports that the registry cannot be reached", async (context) => {
    const { registry, report } = await startStage(context);
    registry.pause();
    const outcome = await report("--yes");
    assert.equal(outcome.exitCode, 1);
    assert.match(outcome.results[0]?.reason ?? "", /no session with the registry: connect/);
  });

  test("ends and cleans up on Ctrl-C, after the answer to the command in progress", async (context) => {
    const { registry, launch } = await startStage(context);
    const hold = registry.hold({ command: "domain:renew", at: "before-execution" });
    const { child, ended } = launch("--yes", "--json");
    await heldFor(ended, hold);
    assert.notDeepEqual(holdingsOf(registry), []);
    const outcome = new Promise((resolve) =>
      child.stderr?.on("data", (text) => /Interrupted/.test(text) && resolve(text)),
    );
    child.kill("SIGINT");
    await outcome;
    hold.release();
    const { code, stdout } = await ended;
    const report = JSON.parse(stdout);
    assert.deepEqual([code, report.wasInterrupted, report.leftovers], [1, true, []]);
    assert.deepEqual(holdingsOf(registry), []);
    const renewals = registry.store.journal.entries({ command: "domain:renew", direction: "in" });
    assert.deepEqual(
      renewals.map((entry) => entry.code),
      [1000],
    );
  });

  for (const [what, spoil] of [
    ["nobody reads what it prints any more", ({ child }: LaunchedTool) => child.stdout?.destroy()],
    ["its folder is gone", (_tool: LaunchedTool, out: string) => rm(out, { recursive: true })],
  ] as const) {
    test(`ends and cleans up when ${what}`, async (context) => {
      const { registry, launch, folder } = await startStage(context);
      const hold = registry.hold({ command: "domain:renew", at: "before-execution" });
      const out = join(folder, "frames");
      const tool = launch("--yes", "--out", out);
      await heldFor(tool.ended, hold);
      await spoil(tool, out);
      hold.release();
      const { code, stderr } = await tool.ended;
      assert.equal(code, 1);
      assert.match(stderr, /removing the test's objects/);
      assert.deepEqual(holdingsOf(registry), []);
    });
  }

  test("continues with the current password when its change never reached the registry", async (context) => {
    const { registry, report, folder } = await startStage(context);
    const hold = registry.hold({ command: "logout", at: "before-execution", times: 1 });
    const walk = report("--yes", "--change-password", "--only", "password-change,domain-check-free");
    await heldFor(walk, hold);
    registry.setFaults({ connect: { as: "refuse-2502", times: 1 } });
    hold.release();
    const outcome = await walk;
    assert.deepEqual([failedIds(outcome), outcome.exitCode], [["password-change"], 1]);
    assert.equal(outcome.results.find(({ id }) => id === "domain-check-free")?.outcome, "ok");
    assert.deepEqual(await readdir(folder), ["registries.json"]);
  });

  test("leaves the other password where its change can be completed", async (context) => {
    const { registry, report, run, profilesFile } = await startStage(context);
    const passwordInFile = async () => JSON.parse(await readFile(profilesFile, "utf8"))[0].password;
    const walk = run("--json", "--yes", "--change-password", "--only", "password-change");
    // The first logout comes before the change, the second one before the change back.
    for (const fault of [null, { as: "refuse-2502", times: 1 } as const]) {
      const hold = registry.hold({ command: "logout", at: "before-execution", times: 1 });
      await heldFor(walk, hold);
      registry.setFaults({ connect: fault });
      hold.release();
    }
    const { code, stdout, stderr } = await walk;
    assert.equal(code, 1);
    assert.equal(failedIds(JSON.parse(stdout))[0], "password-change");
    assert.match(stderr, /is not complete\. .*deedhouse registry password nic --registries /);
    const other = registry.store.passwords.find(first.id)?.password;
    assert.notEqual(other, first.password);
    assert.equal(await passwordInFile(), first.password);
    const again = await report("--yes", "--change-password").catch((error: Error) => error.message);
    assert.match(String(again), /an earlier change of the password is not complete/);
    const ended = await runTool(["registry", "password", "nic", "--registries", profilesFile]);
    assert.equal(ended.code, 0, ended.stderr);
    assert.equal(await passwordInFile(), other);
  });
});
