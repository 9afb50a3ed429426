/** What keeps api and worker from starting, as an operator sees it. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { runTool, systemFolder } from "../harness/running-system.ts";
import { startOwnServer } from "../harness/standby.ts";

const folder = await systemFolder({ after });
// Production refuses a server that may lose commits.
const { url } = await startOwnServer({ after }, { fsync: "on" });
await migrate(url);
const runtime = join(folder, "run");
await mkdir(runtime);

const inFolder = (name: string) => join(folder, name);
const sound = {
  DATABASE_URL: url,
  DEEDHOUSE_MASTER_KEY_FILE: inFolder("master.key"),
  DEEDHOUSE_REPLAY_DIR: inFolder("replay"),
  DEEDHOUSE_REGISTRIES_FILE: inFolder("registries.json"),
  DEEDHOUSE_SITE_DOMAIN: "sites.example",
};
await writeFile(sound.DEEDHOUSE_MASTER_KEY_FILE, `1:${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
await writeFile(sound.DEEDHOUSE_REGISTRIES_FILE, "[]", { mode: 0o600 });
await writeFile(inFolder("open.key"), "sandbox:short\n", { mode: 0o644 });

const unsafe = {
  DATABASE_URL: "postgres://127.0.0.1:1/none",
  DEEDHOUSE_MASTER_KEY_FILE: inFolder("open.key"),
  DEEDHOUSE_REPLAY_DIR: inFolder("replay"),
  DEEDHOUSE_REGISTRIES_FILE: inFolder("none.json"),
  DEEDHOUSE_RUNTIME_DIR: runtime,
  DEEDHOUSE_API_HOST: "0.0.0.0",
  DEEDHOUSE_API_PROT: "7400",
  DEEDHOUSE_METRICS_HOST: "0.0.0.0",
  DEEDHOUSE_METRICS_PORT: "0",
  DEEDHOUSE_FORWARDED_HEADER: "X-Real-IP",
  DEEDHOUSE_DRAIN_SECONDS: "1",
};
/** The beginning of each line of the list; the api's has one more. */
const ofApi = "DEEDHOUSE_API_HOST is";
const lines = [
  "DEEDHOUSE_FORWARDED_HEADER must be",
  "DEEDHOUSE_TRUSTED_PROXIES is not set",
  "DEEDHOUSE_METRICS_HOST is",
  "DEEDHOUSE_MASTER_KEY: ",
  "DEEDHOUSE_REGISTRIES_FILE: ",
  ofApi,
  "DEEDHOUSE_MASTER_KEY is a sandbox's",
  "DEEDHOUSE_SITE_DOMAIN is localhost",
  "DEEDHOUSE_MASTER_KEY_FILE: everybody",
  "DEEDHOUSE_API_PROT is no setting",
  "DEEDHOUSE_DRAIN_SECONDS is no setting",
];

const run = (words: string[], own: Record<string, string>) => {
  const { DATABASE_URL: _url, ...surroundings } = process.env;
  return runTool(words, { env: { ...surroundings, ...own } });
};

for (const role of ["api", "worker"]) {
  test(`the ${role} names everything that is wrong and unsafe in one list, and opens nothing`, async () => {
    const { code, stdout, stderr } = await run([role], unsafe);
    const [first, ...found] = stderr.trimEnd().split("\n  ");
    assert.equal(first, "deedhouse: these settings are wrong or unsafe:");
    const expected = lines.filter((line) => role === "api" || line !== ofApi);
    assert.deepEqual(
      found.map((line, index) => (line.startsWith(expected[index] ?? "?") ? expected[index] : line)),
      expected,
    );
    assert.equal(stdout, "");
    assert.equal(code, 2);
    assert.deepEqual(await readdir(runtime), []);
  });
}

test("check-config prints the same list, and that the database does not answer", async () => {
  const api = await run(["api"], unsafe);
  const check = await run(["check-config"], unsafe);
  assert.ok(check.stderr.startsWith(api.stderr), check.stderr);
  assert.match(check.stderr.slice(api.stderr.length), /^ {2}the database is unavailable: .*127\.0\.0\.1:1/);
  assert.equal(check.code, 2);
  const asJson = await run(["check-config", "--json"], unsafe);
  assert.equal(JSON.parse(asJson.stdout).mistakes.length, lines.length + 1);
  assert.equal(asJson.code, 2);
});

test("check-config accepts sound settings, and says when only the database is away", async () => {
  const { code, stdout, stderr } = await run(["check-config"], sound);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /sound: api and worker can start/);
  assert.deepEqual(JSON.parse((await run(["check-config", "--json"], sound)).stdout), { mistakes: [] });
  const away = await run(["check-config"], { ...sound, DATABASE_URL: unsafe.DATABASE_URL });
  assert.match(away.stderr, /^deedhouse: the database is unavailable/);
  assert.equal(away.code, 8);
});

/** For a program, OpenTelemetry's SDK is not there. */
const withoutSdk = `import { registerHooks } from "node:module";
  registerHooks({ resolve(name, context, next) {
    if (name === "@opentelemetry/sdk-node") throw new Error("not found");
    return next(name, context);
  } });`;

test("check-config says how to install OpenTelemetry's SDK when there is a collector and no SDK", async () => {
  const collected = { ...sound, OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };
  assert.equal((await run(["check-config"], collected)).code, 0);
  const hidden = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(withoutSdk)}` };
  assert.equal((await run(["check-config"], { ...sound, ...hidden })).code, 0);
  const { code, stderr } = await run(["check-config"], { ...collected, ...hidden });
  assert.match(stderr, /OTEL_EXPORTER_OTLP_ENDPOINT needs .* npm install .* @opentelemetry\/sdk-node@[0-9.]+\n$/);
  assert.equal(code, 2);
});

test("check-config explains itself", async () => {
  const { code, stdout } = await run(["check-config", "--help"], {});
  assert.equal(code, 0);
  assert.match(stdout, /Exit code 2 when something is wrong or unsafe/);
});
