import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { type PasswordServer, startPasswordServer } from "#registry/epp/test-password-server.ts";
import { eventually, launchTool, runTool, startSystem, systemFolder } from "../../../test/harness/running-system.ts";

const oldPassword = "old-PW-1";
const newPassword = "new-PW-2";

interface Stage {
  server: PasswordServer;
  folder: string;
  file: string;
  /** Runs the command with the new password on its standard input. */
  run(...args: string[]): ReturnType<typeof runTool>;
  /** The password in the file of profiles. */
  written(): Promise<string>;
}

async function setStage(context: TestContext): Promise<Stage> {
  const server = await startPasswordServer(context, oldPassword);
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-password-"));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "registries.json");
  await writeFile(join(folder, "ca.pem"), server.certificate.cert);
  const profile = {
    id: "nic",
    host: "127.0.0.1",
    port: server.standIn.port,
    servername: "localhost",
    caFile: "ca.pem",
    registrarId: "ClientX",
    password: oldPassword,
    suffixes: ["test"],
    dataModel: "thin",
    // After a lost answer, the command waits twice this long.
    transformTimeoutMs: 5,
  };
  const other = { ...profile, id: "other", suffixes: ["example"], password: "other-PW-3" };
  await writeFile(file, JSON.stringify([other, profile], null, 2), { mode: 0o644 });
  const passwordIn = async () => {
    const entries: { id: string; password: string }[] = JSON.parse(await readFile(file, "utf8"));
    assert.deepEqual(entries[0], other);
    assert.deepEqual({ ...entries[1], password: "" }, { ...profile, password: "" });
    return entries[1]!.password;
  };
  const run = (...args: string[]) =>
    runTool(["registry", "password", "nic", "--registries", file, ...args], { input: `${newPassword}\n` });
  return { server, folder, file, run, written: passwordIn };
}

const draftsIn = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith(".new-password"));

describe("deedhouse registry password", () => {
  test("changes it at the registry and in the file, which only its owner can read", async (context) => {
    const { server, folder, file, run, written } = await setStage(context);
    const { code, stdout, stderr } = await run();
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /changed.*start the worker/s);
    assert.deepEqual([server.password, await written()], [newPassword, newPassword]);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await draftsIn(folder), []);
    assert.doesNotMatch(stdout, /PW-/);
  });

  test("generates one that every registry accepts, and shows it to nobody", async (context) => {
    const { server, run, written } = await setStage(context);
    const { code, stdout } = await run("--generate", "--json");
    assert.equal(code, 0);
    assert.match(server.password, /^[A-Za-z0-9_-]{16}$/);
    assert.equal(await written(), server.password);
    assert.ok(!stdout.includes(server.password));
    assert.equal(JSON.parse(stdout).password, "changed");
  });

  test("changes nothing when the registry refuses, and says why", async (context) => {
    const { server, folder, run, written } = await setStage(context);
    server.refusal = 2306;
    const { code, stderr } = await run();
    assert.equal(code, 3);
    assert.match(stderr, /nic did not change the password: .*2306.*old password is still in effect/s);
    assert.deepEqual([server.password, await written(), await draftsIn(folder)], [oldPassword, oldPassword, []]);
  });

  test("finds out which password is in effect when the answer was lost", async (context) => {
    const { server, run, written } = await setStage(context);
    server.loss = "before";
    assert.equal((await run()).code, 3);
    assert.equal(await written(), oldPassword);
    server.loss = "after";
    assert.equal((await run()).code, 0);
    assert.equal(await written(), newPassword);
  });

  test("keeps both when it cannot find out, and finds out when it is run again", async (context) => {
    const { server, folder, run, written } = await setStage(context);
    server.loss = "after";
    server.plainAnswer = "close";
    const { code, stderr } = await run();
    assert.equal(code, 8);
    assert.match(stderr, /it is not known whether nic changed the password/);
    assert.doesNotMatch(stderr, /PW-/);
    assert.deepEqual([await written(), await draftsIn(folder)], [oldPassword, ["registries.json.new-password"]]);
    server.plainAnswer = undefined;
    assert.equal((await run()).code, 0);
    assert.deepEqual([await written(), await draftsIn(folder)], [newPassword, []]);
  });

  test("loses no password when it is killed before the registry's answer", async (context) => {
    const { server, folder, file, run, written } = await setStage(context);
    const { script } = server.standIn;
    server.standIn.script = (request) => {
      const answer = script(request);
      return server.password === newPassword ? "silence" : answer;
    };
    const { child, ended } = launchTool(["registry", "password", "nic", "--registries", file], { input: newPassword });
    await eventually("the registry changes it", () => server.password === newPassword);
    child.kill("SIGKILL");
    await ended;
    assert.equal(await written(), oldPassword);
    const [draft = ""] = await draftsIn(folder);
    assert.equal((await stat(join(folder, draft))).mode & 0o777, 0o600);
    server.standIn.script = script;
    const { code, stdout } = await run();
    assert.equal(code, 0);
    assert.match(stdout, /changed, completing an earlier run; no password was read/);
    assert.deepEqual([await written(), await draftsIn(folder)], [newPassword, []]);
  });

  test("refuses a password that no registry accepts, without asking one", async (context) => {
    const { server, file, folder } = await setStage(context);
    const refused = async (input: string, args: string[], code: number, sentence: RegExp) => {
      const ended = await runTool(["registry", "password", ...args], { input });
      assert.match(ended.stderr, sentence);
      assert.deepEqual([ended.code, ended.stdout], [code, ""]);
      assert.doesNotMatch(ended.stderr, /unexpected|\n {4}at /);
    };
    const at = ["nic", "--registries", file];
    await Promise.all([
      ...["short", "with a space", "x".repeat(129)].map((input) =>
        refused(input, at, 2, /the new password cannot be used: it must have 6 to 16 characters/),
      ),
      refused(oldPassword, at, 2, /the new password is the same as the old one/),
      refused(newPassword, ["ghost", "--registries", file], 4, /has no registry ghost/),
      refused(newPassword, ["nic", "--registries", join(folder, "none.json")], 2, /there is no file of profiles/),
      refused(newPassword, ["nic", "--registries", join(folder, "ca.pem")], 2, /ca\.pem is not JSON/),
    ]);
    assert.deepEqual(server.tried, []);
  });
});

test("a changed password survives a restart of deedhouse start", async (context) => {
  const folder = await systemFolder({ after: (work) => context.after(work) });
  const system = await startSystem(folder);
  const { password } = system.ready().registry;
  const args = ["registry", "password", "sandbox", "--data", join(folder, "data"), "--generate"];
  const { code, stderr } = await system.tool(args);
  assert.deepEqual([code, stderr], [0, ""]);
  await system.kill("SIGTERM");
  const again = await startSystem(folder);
  assert.notEqual(again.ready().registry.password, password);
  const accepted = await again.send("POST", "/domains/registrations", { body: { domain_name: "after.example" } });
  assert.equal(accepted.status, 202);
  await eventually("the order is carried out", async () => {
    const { body } = await again.send("GET", accepted.headers.location!);
    return (body as { status: string }).status === "Finished";
  });
  await again.kill("SIGTERM");
});
