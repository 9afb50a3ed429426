import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { generate } from "selfsigned";
import { type CheckedRole, checkStart } from "#checks/check-start.ts";
import { knownVariables } from "#checks/known-variables.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { migrate } from "#db/migrate.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer, parseNamedKey } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { apiSecretRow } from "#resellers/key-store.ts";
import { runSql } from "../../test/harness/sql.ts";
import { startOwnServer } from "../../test/harness/standby.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-checks-"));
after(() => rm(folder, { recursive: true, force: true }));

async function write(name: string, content: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  // Whatever the umask of those who run the tests.
  await chmod(path, mode);
  return path;
}

const authority = async (name: string) => (await generate([{ name: "commonName", value: name }])).cert;
const profile = {
  id: "nic",
  host: "epp.nic.example",
  port: 700,
  caFile: await write("ca.pem", await authority("A registry's CA")),
  registrarId: "registrar",
  password: "secret-enough",
  suffixes: ["example"],
};
const registries = (name: string, own: object, mode = 0o600) =>
  write(name, JSON.stringify([{ ...profile, ...own }]), mode);

const newKey = () => randomBytes(32).toString("hex");
const masterKey = `2026:${newKey()}`;
// Production refuses a server that may lose commits, as that of other tests may.
const server = await startOwnServer({ after }, { fsync: "on" });

async function emptyDatabase(name: string): Promise<string> {
  await runSql(server.url, `CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

async function migratedDatabase(name: string): Promise<string> {
  const url = await emptyDatabase(name);
  await migrate(url);
  return url;
}

const url = await migratedDatabase("sound");
const sound = {
  DATABASE_URL: url,
  DEEDHOUSE_MASTER_KEY_FILE: await write("master.key", masterKey, 0o640),
  DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
  DEEDHOUSE_REGISTRIES_FILE: await registries("registries.json", {}),
  DEEDHOUSE_SITE_DOMAIN: "sites.reseller.example",
};

const mistakesOf = async (own: Record<string, string>, role: CheckedRole = "api") =>
  (await checkStart(role, { ...sound, ...own })).mistakes;

// A test that is declared before one of these files is made could end, and with it the folder.
/** A mistake alone, and the only sentence that it has. */
const cases: [what: string, own: Record<string, string>, sentence: RegExp][] = [
  ["no master key", { DEEDHOUSE_MASTER_KEY_FILE: await write("empty.key", "") }, /^DEEDHOUSE_MASTER_KEY is not set$/],
  ["no file of a master key", { DEEDHOUSE_MASTER_KEY_FILE: join(folder, "none") }, /^DEEDHOUSE_MASTER_KEY_FILE cannot/],
  [
    "a malformed master key",
    { DEEDHOUSE_MASTER_KEY_FILE: await write("short.key", "1:abc") },
    /^DEEDHOUSE_MASTER_KEY: The master key must be 32 octets.*openssl rand -hex 32$/,
  ],
  [
    "a sandbox's master key",
    { DEEDHOUSE_MASTER_KEY_FILE: await write("sandbox.key", `sandbox:${newKey()}`) },
    /^DEEDHOUSE_MASTER_KEY is a sandbox's: make one with/,
  ],
  [
    "a master key that others can read",
    { DEEDHOUSE_MASTER_KEY_FILE: await write("open.key", masterKey, 0o644) },
    /^DEEDHOUSE_MASTER_KEY_FILE: everybody on this machine can use .*open\.key.*: chmod u=rw,g=r,o= .*open\.key$/,
  ],
  [
    "a master key that its group can write",
    { DEEDHOUSE_MASTER_KEY_FILE: await write("group.key", masterKey, 0o660) },
    /^DEEDHOUSE_MASTER_KEY_FILE: its group can write .*group\.key/,
  ],
  [
    "profiles that others can read",
    { DEEDHOUSE_REGISTRIES_FILE: await registries("open.json", {}, 0o604) },
    /^DEEDHOUSE_REGISTRIES_FILE: everybody on this machine can use .*open\.json/,
  ],
  [
    "profiles that are malformed",
    { DEEDHOUSE_REGISTRIES_FILE: await registries("malformed.json", { sufixes: [] }) },
    /^DEEDHOUSE_REGISTRIES_FILE: .*malformed\.json: nic: sufixes is not a field/,
  ],
  [
    "a registry on this machine",
    { DEEDHOUSE_REGISTRIES_FILE: await registries("loopback.json", { host: "127.0.0.9" }) },
    /^DEEDHOUSE_REGISTRIES_FILE: the profile nic is at 127\.0\.0\.9, so its names are registered nowhere: take it out/,
  ],
  [
    "a sandbox registry elsewhere",
    {
      DEEDHOUSE_REGISTRIES_FILE: await registries("sandbox.json", {
        caFile: await write("sandbox-ca.pem", await authority("Deedhouse sandbox registry CA")),
      }),
    },
    /^DEEDHOUSE_REGISTRIES_FILE: the profile nic trusts a sandbox's certificate authority/,
  ],
  ["sites of a sandbox", { DEEDHOUSE_SITE_DOMAIN: "localhost" }, /^DEEDHOUSE_SITE_DOMAIN is localhost: set it to/],
  [
    "plain HTTP over a network",
    { DEEDHOUSE_API_HOST: "192.0.2.1" },
    /^DEEDHOUSE_API_HOST .*DEEDHOUSE_ALLOW_PLAIN_HTTP/,
  ],
  [
    "forwarded headers of nobody",
    { DEEDHOUSE_FORWARDED_HEADER: "Forwarded" },
    /^DEEDHOUSE_TRUSTED_PROXIES is not set: which proxies/,
  ],
  [
    "metrics for everybody",
    { DEEDHOUSE_METRICS_PORT: "9100", DEEDHOUSE_METRICS_HOST: "0.0.0.0" },
    /^DEEDHOUSE_METRICS_HOST is "0\.0\.0\.0", beyond loopback: set DEEDHOUSE_METRICS_ALLOW/,
  ],
  [
    "a mistyped variable",
    { DEEDHOUSE_API_PROT: "7400" },
    /^DEEDHOUSE_API_PROT is no setting: .*mean DEEDHOUSE_API_PORT\?$/,
  ],
  ["a variable of nobody", { DEEDHOUSE_ZZZZZZZZZZZZ: "" }, /^DEEDHOUSE_ZZZZZZZZZZZZ is no setting: remove it/],
];

test("sound settings have no mistake", async () => {
  assert.deepEqual(await mistakesOf({}), []);
  assert.deepEqual(await mistakesOf({}, "worker"), []);
});

for (const [what, own, sentence] of cases) {
  test(`refuses ${what}, and says which setting mends it`, async () => {
    const found = await mistakesOf(own);
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0]!, sentence);
  });
}

test("names the file of a profile's key that others can read", async () => {
  const { private: key, cert } = await generate([{ name: "commonName", value: "registrar" }]);
  const files = { certFile: await write("cert.pem", cert), keyFile: await write("tls.key", key, 0o644) };
  const found = await mistakesOf({ DEEDHOUSE_REGISTRIES_FILE: await registries("keyed.json", files) });
  assert.equal(found.length, 1, found.join("\n"));
  assert.match(found[0]!, /^DEEDHOUSE_REGISTRIES_FILE, keyFile: everybody .*tls\.key/);
});

test("refuses a database without this release's migrations", async () => {
  const [only, ...others] = await mistakesOf({ DATABASE_URL: await emptyDatabase("bare") });
  assert.match(only!, /^DATABASE_URL: the database lacks \d+ of this release's migrations, .*: run deedhouse migrate$/);
  assert.deepEqual(others, []);
});

test("refuses a database of another program", async () => {
  const other = await emptyDatabase("recipes");
  await runSql(other, "CREATE TABLE recipes (id int)");
  assert.match((await mistakesOf({ DATABASE_URL: other })).join(), /tables of another program/);
});

test("accepts a database that a newer release has migrated", async () => {
  const newer = await migratedDatabase("newer");
  await runSql(newer, "INSERT INTO migrations (number, name, sha256) VALUES (9999, '9999-later.sql', '')");
  assert.deepEqual(await mistakesOf({ DATABASE_URL: newer }), []);
});

test("refuses a master key that does not open what the database holds, by its id or by its value", async () => {
  const used = await migratedDatabase("used");
  const sealer = createSealer({ keys: [parseNamedKey(masterKey)], random: systemRandom });
  const id = "a".repeat(32);
  const sealed = sealer.seal(apiSecretRow(id), new Secret("secret")).toString("hex");
  await runSql(
    used,
    `INSERT INTO resellers (name, kind, rate_limit, hosting_accounts_max, hosting_bytes_max, created_at)
       VALUES ('acme', 'reseller', 1, 1, 1, now());
     INSERT INTO api_keys (id, reseller_id, label, secret_sealed, scopes, created_at)
       SELECT '${id}', id, '', '\\x${sealed}', '{}', now() FROM resellers`,
  );
  assert.deepEqual(await mistakesOf({ DATABASE_URL: used }), []);
  for (const [other, says] of [
    [`2027:${newKey()}`, /sealed under the master key "2026": configure that key too/],
    [`2026:${newKey()}`, /does not open with the master key "2026"/],
  ] as const) {
    const found = await mistakesOf({ DATABASE_URL: used, DEEDHOUSE_MASTER_KEY_FILE: await write("other.key", other) });
    assert.equal(found.length, 1, found.join("\n"));
    assert.match(found[0]!, /^DEEDHOUSE_MASTER_KEY does not open what the database holds: /);
    assert.match(found[0]!, says);
  }
});

test("tells a database that does not answer from one that is wrong", async () => {
  const { mistakes, unavailable } = await checkStart("api", { ...sound, DATABASE_URL: "postgres://127.0.0.1:1/none" });
  assert.deepEqual(mistakes, []);
  assert.ok(unavailable instanceof DatabaseUnavailable);
});

test("a sandbox may do what production may not", async () => {
  const own = {
    DEEDHOUSE_DEPLOYMENT: "sandbox",
    DEEDHOUSE_SITE_DOMAIN: "localhost",
    DEEDHOUSE_REGISTRIES_FILE: await registries("sandboxes.json", { host: "127.0.0.1" }, 0o644),
    DEEDHOUSE_MASTER_KEY_FILE: await write("sandboxes.key", `sandbox:${newKey()}`, 0o644),
    DEEDHOUSE_API_PROT: "7400",
  };
  assert.deepEqual(await mistakesOf(own), []);
});

test("knows every variable that a command reads, and no other", async () => {
  const sources = (await Promise.all(["src", "client", "mcp"].map(sourcesIn))).flat();
  const read = sources.flatMap((text) => [
    ...[...text.matchAll(/"(DEEDHOUSE_[A-Z_]+)"/g)].map(([, name]) => name!),
    ...[...text.matchAll(/\{([^}]*)\} = process\.env/g)].flatMap(
      ([, names]) => names!.match(/DEEDHOUSE_[A-Z_]+/g) ?? [],
    ),
  ]);
  const bare = (name: string) => (knownVariables.includes(name) ? name : name.replace(/_FILE$/, ""));
  const isOfTests = (name: string) => name.startsWith("DEEDHOUSE_TEST_");
  const names = [...new Set(read.map(bare))].filter((name) => !isOfTests(name));
  assert.deepEqual(names.toSorted(), knownVariables.toSorted());
});

/** Without the list itself. */
async function sourcesIn(part: string): Promise<string[]> {
  const root = new URL(`../../${part}/`, import.meta.url);
  const files = (await readdir(root, { recursive: true })).filter(
    (path) =>
      path.endsWith(".ts") && !/\.test\.ts$|(^|\/)node_modules\/|(^|\/)dist\/|checks\/known-variables\.ts$/.test(path),
  );
  return Promise.all(files.map((path) => readFile(new URL(path, root), "utf8")));
}
