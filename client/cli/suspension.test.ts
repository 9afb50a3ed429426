import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { refuse, startStandInService } from "../testing/stand-in-service.ts";

const path = "/v1/hostingaccounts/site.example";
const command = ["hosting", "suspension", "site.example"];
const own = { by: "reseller", since: "2026-11-25T01:00:00.000Z", reason: "unpaid" };
const operators = { by: "operator", since: "2026-11-24T01:00:00.000Z" };
const account = (status: string, changes_pending: boolean, suspensions?: object[]) => {
  return { status: 200, body: { identifier: "site.example", status, changes_pending, suspensions } };
};

test("hosting suspension on --wait sends the reason, and ends when the account is suspended", async () => {
  await using service = await startStandInService();
  service.answers[`PUT ${path}/suspension`] = { status: 202 };
  service.answers[`GET ${path}`] = [account("Ready", true, [own]), account("Suspended", false, [own])];
  const { exitCode, stdout, stderr } = await runCli(service.url, [...command, "on", "--reason", "unpaid", "--wait"]);
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(JSON.parse(service.seen[0]!.body), { suspended: true, reason: "unpaid" });
  assert.match(stdout, /^status +Suspended$/m);
  assert.match(stderr, /site\.example Ready, the change is not in effect yet/);
});

test("hosting suspension off lifts your suspension", async () => {
  await using service = await startStandInService();
  service.answers[`PUT ${path}/suspension`] = { status: 202 };
  service.answers[`GET ${path}`] = account("Ready", false);
  const { exitCode, stdout } = await runCli(service.url, [...command, "off", "--json"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(service.seen[0]!.body), { suspended: false });
  assert.deepEqual(JSON.parse(stdout), { identifier: "site.example", status: "Ready", changes_pending: false });
});

test("hosting suspension off exits with 6 and says whom to ask while the operator's suspension holds", async () => {
  await using service = await startStandInService();
  service.answers[`PUT ${path}/suspension`] = { status: 202 };
  service.answers[`GET ${path}`] = account("Suspended", false, [operators]);
  const { exitCode, stderr } = await runCli(service.url, [...command, "off"]);
  assert.equal(exitCode, 6);
  assert.match(stderr, /site\.example stays suspended by the operator\n.*ask them/);

  service.answers[`PUT ${path}/suspension`] = refuse(409, "hostingaccount_suspended_by_operator");
  assert.equal((await runCli(service.url, [...command, "off"])).exitCode, 3);
});

test("hosting suspension takes on or off, and a reason only with on", async () => {
  await using service = await startStandInService();
  for (const args of [["maybe"], [], ["off", "--reason", "paid"]]) {
    assert.equal((await runCli(service.url, [...command, ...args])).exitCode, 2, args.join(" "));
  }
  assert.equal(service.seen.length, 0);
});
