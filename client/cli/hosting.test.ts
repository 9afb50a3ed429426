import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, refuse, type StandInService, startStandInService } from "../testing/stand-in-service.ts";

const createArgs = ["hosting", "create", "site.example", "--pack", "14"];
const account = {
  identifier: "site.example",
  servicepack_id: "14",
  status: "Ready",
  ftp: { host: "ftp.example.net", port: 21, username: "site.example" },
  web: { url: "http://site.example.sites.example.net/" },
};

function sentPassword(service: StandInService): string {
  return JSON.parse(service.seen.at(-1)!.body).password;
}

test("hosting create reads the password from a file or stdin, without the line break", async (t) => {
  await using service = await startStandInService();
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-client-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "password");
  await writeFile(file, "Wachtwöord 1 \n");
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/site.example", 6);

  const fromFile = await runCli(service.url, [...createArgs, "--password-file", file, "--json"]);
  assert.equal(fromFile.exitCode, 0);
  assert.deepEqual(JSON.parse(fromFile.stdout), {
    identifier: "site.example",
    location: "/v1/hostingaccounts/site.example",
    check_after: 6,
  });
  assert.equal(sentPassword(service), "Wachtwöord 1 ");

  const fromStdin = await runCli(service.url, [...createArgs, "--password-stdin"], { stdin: "from-stdin-1\r\n" });
  assert.equal(fromStdin.exitCode, 0);
  assert.equal(sentPassword(service), "from-stdin-1");
});

test("hosting create --generate-password shows the password once, on stderr", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/site.example", 6);
  const { exitCode, stdout, stderr } = await runCli(service.url, [...createArgs, "--generate-password"]);
  assert.equal(exitCode, 0);
  assert.match(sentPassword(service), /^[2-9a-zA-Z]{24}$/);
  assert.equal(stderr.split(sentPassword(service)).length, 2);
  assert.ok(!stdout.includes(sentPassword(service)));
});

test("hosting create without a password and without a terminal exits with 2 and sends nothing", async () => {
  await using service = await startStandInService();
  const { exitCode, stderr } = await runCli(service.url, createArgs);
  assert.equal(exitCode, 2);
  assert.match(stderr, /--password-file, --password-stdin or --generate-password/);
  assert.equal(service.seen.length, 0);
});

test("hosting create refuses two sources of the password", async () => {
  await using service = await startStandInService();
  const { exitCode } = await runCli(service.url, [...createArgs, "--generate-password", "--password-stdin"]);
  assert.equal(exitCode, 2);
});

test("hosting create --wait ends with the FTP login and the web address", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/site.example", 6);
  service.answers["GET /v1/hostingaccounts/site.example"] = [
    { status: 200, headers: { "check-after": "2" }, body: { identifier: "site.example", status: "Provisioning" } },
    { status: 200, body: account },
  ];
  const { exitCode, stdout, stderr } = await runCli(service.url, [...createArgs, "--password-stdin", "--wait"], {
    stdin: "a-password",
  });
  assert.equal(exitCode, 0);
  assert.equal(
    stderr,
    "site.example accepted\nslept 0 s\nsite.example Provisioning, next look in 2 s\nslept 2 s\n" +
      "site.example Ready\n",
  );
  assert.match(stdout, /^ftp\.host +ftp\.example\.net$/m);
  assert.match(stdout, /^ftp\.port +21$/m);
  assert.match(stdout, /^ftp\.username +site\.example$/m);
  assert.match(stdout, /^web\.url +http:\/\/site\.example\.sites\.example\.net\/$/m);
});

test("hosting create --wait exits with 6 when the account fails", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/hostingaccounts"] = accepted("/v1/hostingaccounts/site.example", 6);
  service.answers["GET /v1/hostingaccounts/site.example"] = {
    status: 200,
    body: { identifier: "site.example", status: "Failed", error_text: "No node has room." },
  };
  const { exitCode, stderr } = await runCli(service.url, [...createArgs, "--generate-password", "--wait"]);
  assert.equal(exitCode, 6);
  assert.match(stderr, /account site\.example ended as Failed: No node has room\./);
});

test("hosting get exits with 4 for an account that is not the caller's", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/hostingaccounts/site.example"] = refuse(403, "hostingaccount_invalid_identifier");
  assert.equal((await runCli(service.url, ["hosting", "get", "site.example"])).exitCode, 4);
});

test("hosting password sends the new password and prints none of it", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/hostingaccounts/site.example/password"] = { status: 202 };
  const args = ["hosting", "password", "site.example", "--password-stdin"];
  const { exitCode, stdout, stderr } = await runCli(service.url, args, { stdin: "another-one-1\n" });
  assert.equal(exitCode, 0);
  assert.equal(sentPassword(service), "another-one-1");
  assert.ok(!`${stdout}${stderr}`.includes("another-one-1"));
});

test("hosting delete asks first: without a terminal and --yes it exits with 2 and sends nothing", async () => {
  await using service = await startStandInService();
  service.answers["DELETE /v1/hostingaccounts/site.example"] = { status: 202 };
  const args = ["hosting", "delete", "site.example", "--json"];
  const refused = await runCli(service.url, args);
  assert.equal(refused.exitCode, 2);
  assert.match(refused.stderr, /--yes/);
  assert.equal(service.seen.length, 0);
  const done = await runCli(service.url, [...args, "--yes"]);
  assert.deepEqual(JSON.parse(done.stdout), { identifier: "site.example", status: "being deleted" });
  assert.equal(service.seen.length, 1);
});

test("hosting history shows what happened and what happens next", async () => {
  await using service = await startStandInService();
  const event = { at: "2026-11-21T01:39:39.906Z", event: "requested", status: "Provisioning", text: "it was ordered" };
  service.answers["GET /v1/hostingaccounts/site.example/history"] = {
    status: 200,
    body: {
      identifier: "site.example",
      status: "Ready",
      changes_pending: false,
      next: "nothing",
      history: [event],
    },
  };
  const { exitCode, stdout } = await runCli(service.url, ["hosting", "history", "site.example"]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^next +nothing$/m);
  assert.match(stdout, /2026-11-21T01:39:39\.906Z +it was ordered$/m);
});

test("hosting list and packs list print tables", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/hostingaccounts"] = { status: 200, body: [{ identifier: "site.example" }] };
  service.answers["GET /v1/servicepacks"] = {
    status: 200,
    body: [{ id: "14", name: "Small", kind: "hosting", disk_quota_bytes: 1073741824 }],
  };
  assert.equal((await runCli(service.url, ["hosting", "list"])).stdout, "IDENTIFIER\nsite.example\n");
  assert.equal(
    (await runCli(service.url, ["packs", "list"])).stdout,
    "ID  NAME   KIND     DISK_QUOTA_BYTES\n14  Small  hosting  1073741824\n",
  );
});
