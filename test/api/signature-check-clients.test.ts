import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createClient } from "../../client/sdk/client.ts";
import { createSignatureChecker } from "../../client/sdk/signature-check.ts";
import { instantClock } from "../../client/testing/instant-clock.ts";
import { runCli } from "../../client/testing/run-cli.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { authorize } from "../harness/signed-request.ts";

// The command line's clock in tests.
const clock = createManualClock(1_800_000_000);
const gateway = await startTestGateway({ after }, { clock, worker: false });
const reseller = await gateway.addReseller();
const { id: apiKey, secret } = reseller.key;
const folder = await mkdtemp(join(tmpdir(), "deedhouse-signature-check-"));
after(() => rm(folder, { recursive: true, force: true }));

const url = `${gateway.url}/v1`;
const target = "/v1/domains?take=5";
const authorization = authorize({ key: reseller.key, clock, method: "GET", target });
const request = { method: "GET", target, headers: { authorization } };

test("the library asks with and without a key", async () => {
  const { data: unsigned } = await createSignatureChecker({ url }).checkSignature(request);
  assert.equal(unsigned.match, undefined);
  assert.equal(unsigned.api_key, apiKey);
  const client = createClient({ url, apiKey, apiSecret: secret.reveal(), clock: instantClock() });
  const { data: signed } = await client.checkSignature(request);
  assert.equal(signed.match?.signed, true);
  assert.deepEqual(signed.authorization, unsigned.authorization);
});

test("signature check prints the texts and the problems, and needs no key", async () => {
  const env = { DEEDHOUSE_API_KEY: undefined, DEEDHOUSE_API_SECRET: undefined };
  const described = ["--target", target, "--header", `Authorization: ${authorization}`];
  const { exitCode, stdout, stderr } = await runCli(url, ["signature", "check", ...described], { env });
  assert.equal(exitCode, 0, stderr);
  assert.match(stdout, /^string to sign 1 +[0-9a-f]{32}get%2Fv1%2Fdomains%3Ftake%3D5[0-9]{10}\w+$/m);
  assert.match(stdout, /^clock +[0-9]+ s (behind|ahead of) the service's time .*: accepted/m);
  assert.doesNotMatch(stdout, /problem/);
  const bare = await runCli(url, ["signature", "check", "--target", target], { env });
  assert.match(bare.stdout, /^problem 1 +authorization: It is missing/m);
});

test("signature check reads a description from a file, and with --signed says whether the key has signed it", async () => {
  const file = join(folder, "request.json");
  const body = join(folder, "body");
  await writeFile(file, JSON.stringify(request));
  await writeFile(body, "{}");
  const env = { DEEDHOUSE_API_KEY: apiKey, DEEDHOUSE_API_SECRET: secret.reveal() };
  const right = await runCli(url, ["signature", "check", file, "--signed"], { env });
  assert.match(right.stdout, /^match +The signature is right/m, right.stderr);
  const header = ["--header", `authorization: ${authorization}`];
  const more = ["--body-file", body, "--signed", "--json"];
  const other = await runCli(url, ["signature", "check", "--target", target, ...header, ...more], { env });
  assert.equal(JSON.parse(other.stdout).match.signed, false, other.stderr);
});

test("signature check names what is wrong with its arguments", async () => {
  const notJson = join(folder, "not.json");
  await writeFile(notJson, "{");
  for (const [args, says] of [
    [[], /--target/],
    [[join(folder, "none")], /cannot read/],
    [[notJson], /is not JSON/],
    [["--target", "/", "--header", "x"], /NAME: VALUE/],
  ] as const) {
    const { exitCode, stderr } = await runCli(url, ["signature", "check", ...args]);
    assert.equal(exitCode, 2);
    assert.match(stderr, says);
  }
});
