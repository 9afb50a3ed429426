import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { apiKey, apiSecret, startStandInService } from "../testing/stand-in-service.ts";

const noEnvironment = { DEEDHOUSE_URL: undefined, DEEDHOUSE_API_KEY: undefined, DEEDHOUSE_API_SECRET: undefined };
const otherKey = "ffffffffffffffffffffffffffffffff";
const url = "http://127.0.0.1:9/v1";

/** Runs the tool with a file of profiles of its own, and no other settings. */
function startProfiles(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-profiles-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "settings", "profiles.json");
  const run = (args: string[], { env = {}, stdin = `${apiSecret}\n` } = {}) =>
    runCli(url, args, { env: { ...noEnvironment, DEEDHOUSE_PROFILES: path, ...env }, stdin });
  return { folder, path, run };
}

test("a profile is kept where only its owner can read it, and commands use it without any other setting", async (t) => {
  await using service = await startStandInService();
  service.answers["GET /v1/servicepacks"] = { status: 200, body: [] };
  const { path, run } = startProfiles(t);
  const added = await run(["profile", "add", "live", "--url", service.url, "--key", apiKey]);
  assert.equal(added.exitCode, 0, added.stderr);
  assert.doesNotMatch(added.stdout + added.stderr, new RegExp(apiSecret));
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(path, "..")), ["profiles.json"]);
  const listed = await run(["packs", "list"]);
  assert.equal(listed.exitCode, 0, listed.stderr);
});

test("a named profile comes before the environment, and the environment before the default one", async (t) => {
  await using one = await startStandInService();
  await using two = await startStandInService();
  for (const { answers } of [one, two]) answers["GET /v1/servicepacks"] = { status: 200, body: [] };
  const { run } = startProfiles(t);
  for (const [name, to] of [
    ["one", one.url],
    ["two", two.url],
  ] as const) {
    assert.equal((await run(["profile", "add", name, "--url", to, "--key", apiKey])).exitCode, 0);
  }
  const seen = async (args: string[], env = {}) => {
    const before = [one.seen.length, two.seen.length] as const;
    assert.equal((await run(["packs", "list", ...args], { env })).exitCode, 0);
    return one.seen.length > before[0] ? "one" : two.seen.length > before[1] ? "two" : "none";
  };
  const environment = { DEEDHOUSE_URL: two.url, DEEDHOUSE_API_KEY: apiKey, DEEDHOUSE_API_SECRET: apiSecret };
  assert.equal(await seen([]), "one");
  assert.equal(await seen(["--profile", "two"]), "two");
  assert.equal(await seen([], { DEEDHOUSE_PROFILE: "two" }), "two");
  assert.equal(await seen([], environment), "two");
  assert.equal(await seen(["--profile", "one"], environment), "one");
  assert.equal(await seen(["--profile", "one", "--url", two.url]), "two");
  assert.equal((await run(["profile", "use", "two"])).exitCode, 0);
  assert.equal(await seen([]), "two");
});

test("the default profile does not complete settings that are incomplete", async (t) => {
  const { run } = startProfiles(t);
  await run(["profile", "add", "live", "--url", url, "--key", apiKey]);
  const { exitCode, stderr } = await run(["packs", "list"], { env: { DEEDHOUSE_API_KEY: otherKey } });
  assert.equal(exitCode, 2);
  assert.match(stderr, /missing: --url or DEEDHOUSE_URL; DEEDHOUSE_API_SECRET or --secret-file\n.*profile add/);
});

test("profiles are listed without secrets, and removed", async (t) => {
  const { path, run } = startProfiles(t);
  await run(["profile", "add", "live", "--url", url, "--key", apiKey]);
  await run(["profile", "add", "trial", "--url", url, "--key", otherKey]);
  const listed = await run(["profile", "list", "--json"]);
  assert.deepEqual(JSON.parse(listed.stdout), [
    { profile: "live", url, key: apiKey, default: true },
    { profile: "trial", url, key: otherKey, default: false },
  ]);
  assert.equal((await run(["profile", "remove", "live"])).exitCode, 0);
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), {
    profiles: { trial: { url, key: otherKey, secret: apiSecret } },
  });
  const { exitCode, stderr } = await run(["profile", "remove", "live"]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /no profile is named live\nThere are: trial/);
});

test("a mistake loses no profile", async (t) => {
  const { folder, path, run } = startProfiles(t);
  const add = (name: string, extra: string[] = [], stdin?: string) =>
    run(["profile", "add", name, "--url", url, "--key", apiKey, ...extra], stdin === undefined ? {} : { stdin });
  await add("live");
  const before = readFileSync(path, "utf8");
  const refused: [Awaited<ReturnType<typeof run>>, RegExp][] = [
    [await add("live"), /there is a profile named live\nAdd --replace/],
    [await add("bad name"), /Give 1 to 64 letters/],
    [await add("empty", [], "\n"), /the secret is empty/],
    [await add("missing", ["--secret-file", join(folder, "none")]), /cannot read the secret/],
    [await add("short", ["--key", "abc"]), /an API key is 32/],
    [await add("odd", ["--url", "api.example.com"]), /not of the form https/],
    [await run(["packs", "list", "--profile", "constructor"]), /no profile is named constructor/],
  ];
  for (const [{ exitCode, stderr }, text] of refused) {
    assert.match(stderr, text);
    assert.notEqual(exitCode, 0);
  }
  assert.equal(readFileSync(path, "utf8"), before);
  assert.equal((await add("live", ["--replace", "--key", otherKey])).exitCode, 0);
});

test("a file of profiles that others can read, or that is damaged, is not used", async (t) => {
  const { path, run } = startProfiles(t);
  mkdirSync(join(path, ".."));
  writeFileSync(path, "{}", { mode: 0o644 });
  chmodSync(path, 0o644);
  assert.match((await run(["packs", "list"])).stderr, /other users .*may read .*\n.*chmod 600/);
  chmodSync(path, 0o600);
  for (const text of ["{}", "not JSON", '{"profiles":{"live":{"url":"http://a"}}}', "null"]) {
    writeFileSync(path, text);
    const { exitCode, stderr } = await run(["profile", "add", "live", "--url", url, "--key", apiKey]);
    assert.equal(exitCode, 2);
    assert.match(stderr, /the file of profiles is damaged/, text);
    assert.equal(readFileSync(path, "utf8"), text);
  }
});
