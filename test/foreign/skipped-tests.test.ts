/** A test that skips itself where it could run proves nothing: what `.ci/run` does about it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const ci = join(import.meta.dirname, "../../.ci");
const scripts = ["check-skipped", "missing-packages"];

/** What check-skipped says of a run's output, where one listed package is installed and another is not. */
async function judge(context: TestContext, output: string) {
  const folder = await mkdtemp(join(tmpdir(), "check-skipped-"));
  context.after(() => rm(folder, { recursive: true }));
  for (const script of scripts) await copyFile(join(ci, script), join(folder, script));
  await writeFile(
    join(folder, "packages"),
    '# A comment.\npresent-one test "a b" = "a b"\nabsent-one no-such-program-x\n',
  );
  await writeFile(join(folder, "log"), output);
  const { status, stderr } = spawnSync("bash", [join(folder, "check-skipped"), join(folder, "log")], {
    encoding: "utf8",
  });
  return { status, stderr };
}

const skipped = (name: string) => `✔ passes (0.1ms)\n﹣ reads a page (0.2ms) # ${name} is not installed\nℹ skipped 1\n`;

test("the build fails when a test is skipped for a missing package that is installed", async (context) => {
  const { status, stderr } = await judge(context, skipped("present-one"));
  assert.equal(status, 1);
  assert.match(stderr, /present-one is installed, but .*\n﹣ reads a page/);
});

test("the build fails when a test is skipped for a missing package that .ci/packages does not list", async (context) => {
  const { status, stderr } = await judge(context, skipped("other-one"));
  assert.equal(status, 1);
  assert.match(stderr, /list it in \.ci\/packages\n﹣ reads a page/);
});

test("the build passes when a test is skipped for a package that is not available, or none is skipped", async (context) => {
  assert.deepEqual(await judge(context, skipped("absent-one")), { status: 0, stderr: "" });
  assert.deepEqual(await judge(context, "✔ says that curl is not installed (0.1ms)\n"), { status: 0, stderr: "" });
});

test("the scripts of the build are well-formed", () => {
  for (const script of ["run", ...scripts]) {
    assert.deepEqual(spawnSync("bash", ["-n", join(ci, script)], { encoding: "utf8" }).stderr, "", script);
  }
});
