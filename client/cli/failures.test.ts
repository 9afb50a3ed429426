import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { apiSecret, type Fault, refuse, startStandInService } from "../testing/stand-in-service.ts";

const attemptsMax = 5;

test("--help lists every exit code", async () => {
  const { exitCode, stdout } = await runCli("", ["--help"]);
  assert.equal(exitCode, 0);
  for (let code = 0; code <= 9; code++) assert.match(stdout, new RegExp(`^ {2}${code} {2}\\S`, "m"));
});

test("a command's help says which options are required", async () => {
  const { stdout } = await runCli("", ["hosting", "create", "--help"]);
  assert.match(stdout, /^ {2}--pack <id> .*\(required\)$/m);
  assert.equal(stdout.match(/\(required\)/g)?.length, 1);
});

test("a mistake in the command line exits with 2", async () => {
  const lines = [
    ["domians"],
    ["domains"],
    ["domains", "list", "--tkae", "5"],
    ["domains", "list", "--take", "five"],
    ["domains", "register", "example.com", "--wait", "--timeout", "soon"],
    ["domains", "register", "example.com", "--idempotency-key", "a b"],
    ["hosting", "create", "site.example"],
  ];
  for (const line of lines) assert.equal((await runCli("http://127.0.0.1:1", line)).exitCode, 2, line.join(" "));
});

test("all missing settings are named at once, and exit with 2", async () => {
  const none = { DEEDHOUSE_URL: undefined, DEEDHOUSE_API_KEY: undefined, DEEDHOUSE_API_SECRET: undefined };
  const { exitCode, stderr } = await runCli("", ["domains", "list"], { env: none });
  assert.equal(exitCode, 2);
  assert.match(stderr, /--url or DEEDHOUSE_URL; --key or DEEDHOUSE_API_KEY; DEEDHOUSE_API_SECRET or --secret-file/);
});

test("a malformed key exits with 2", async () => {
  const { exitCode, stderr } = await runCli("http://127.0.0.1:1", ["domains", "list", "--key", "abc"]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /32 lower-case hex digits/);
});

test("the secret may come from a file", async (t) => {
  await using service = await startStandInService();
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-client-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "secret"), `${apiSecret}\n`);
  service.answers["GET /v1/domains"] = { status: 200, body: [] };
  const args = ["domains", "list", "--secret-file", join(folder, "secret")];
  const { exitCode } = await runCli(service.url, args, { env: { DEEDHOUSE_API_SECRET: undefined } });
  assert.equal(exitCode, 0);
});

test("a wrong secret exits with 5 and says what to check", async () => {
  await using service = await startStandInService();
  const { exitCode, stderr } = await runCli(service.url, ["domains", "list"], { env: { DEEDHOUSE_API_SECRET: "no" } });
  assert.equal(exitCode, 5);
  assert.match(stderr, /authorization_hmac_invalid/);
  assert.match(stderr, /Check that --key/);
});

test("a refusal names each wrong field, and exits with 3", async () => {
  await using service = await startStandInService();
  service.faults.push({
    status: 400,
    body: {
      error_code: "bad_request",
      error_text: "Send a valid name.",
      validation_errors: [{ error_code: "too_long", error_text: "At most 253 characters.", field: "domain_name" }],
    },
  });
  const { exitCode, stderr } = await runCli(service.url, ["domains", "register", "example.com"]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /^ {2}domain_name: At most 253 characters\. \(too_long\)$/m);
});

test("a refusal whose text already names the field says it once", async () => {
  await using service = await startStandInService();
  const tooLong = { error_code: "too_long", error_text: "At most 253 characters.", field: "domain_name" };
  const body = { error_code: "bad_request", error_text: `domain_name: ${tooLong.error_text}` };
  service.faults.push({ status: 400, body: { ...body, validation_errors: [tooLong] } });
  const { exitCode, stderr } = await runCli(service.url, ["domains", "register", "example.com"]);
  assert.equal(exitCode, 3);
  assert.deepEqual(stderr.match(/.*At most 253.*/g), ["deedhouse: domain_name: At most 253 characters. (bad_request)"]);
});

test("a rate limit that does not end exits with 9, after reporting each wait", async () => {
  await using service = await startStandInService();
  const limit = refuse(429, "rate_limit_exceeded", { "retry-after": "30" });
  service.faults.push(...Array<Fault>(attemptsMax).fill(limit));
  const { exitCode, stderr } = await runCli(service.url, ["domains", "list"]);
  assert.equal(exitCode, 9);
  assert.match(stderr, /^rate_limit_exceeded; retrying in 30 s\nslept 30 s$/m);
  assert.match(stderr, /Try again in 30 s\./);
  assert.equal(service.seen.length, attemptsMax);
});

test("a service that stays unavailable exits with 8", async () => {
  await using service = await startStandInService();
  service.faults.push(...Array<Fault>(attemptsMax).fill(refuse(503, "service_unavailable")));
  assert.equal((await runCli(service.url, ["domains", "list"])).exitCode, 8);
});

test("an order without an answer exits with 8 and says how to repeat it without ordering twice", async () => {
  const service = await startStandInService();
  await service[Symbol.asyncDispose]();
  const { exitCode, stderr } = await runCli(service.url, ["domains", "register", "example.com"]);
  assert.equal(exitCode, 8);
  assert.match(stderr, /ECONNREFUSED/);
  assert.match(stderr, /repeat it with --idempotency-key [0-9a-f]{32}/);
});

test("an address where another service answers exits with 1", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains"] = { status: 200, body: "<html>" };
  const { exitCode, stderr } = await runCli(service.url, ["domains", "list"]);
  assert.equal(exitCode, 1);
  assert.match(stderr, /check that the URL is the API's/);
});

test("the secret never shows, whatever goes wrong", async () => {
  await using service = await startStandInService();
  service.faults.push(refuse(500, "internal_error"), refuse(401, "authorization_hmac_invalid"));
  const { stdout, stderr } = await runCli(service.url, ["domains", "list"]);
  assert.ok(!(stdout + stderr).includes(apiSecret));
});
