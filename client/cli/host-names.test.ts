import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { startStandInService } from "../testing/stand-in-service.ts";

const path = "/v1/hostingaccounts/site.example/hosts";
const hostName = {
  host_name: "www.site.example",
  status: "Waiting",
  record: { name: "_deedhouse.www.site.example", type: "TXT", value: "deedhouse-site=0f3c" },
  reason: "There is no TXT record at _deedhouse.www.site.example.",
  created_at: "2026-11-21T01:39:39.906Z",
};

test("hosting add-host-name says which record to set", async () => {
  await using service = await startStandInService();
  service.answers[`PUT ${path}/www.site.example`] = { status: 202 };
  service.answers[`GET ${path}/www.site.example`] = { status: 200, body: hostName };
  const added = await runCli(service.url, ["hosting", "add-host-name", "site.example", "www.site.example"]);
  assert.equal(added.exitCode, 0);
  assert.match(added.stdout, /^record\.name +_deedhouse\.www\.site\.example$/m);
  assert.match(added.stdout, /^record\.value +deedhouse-site=0f3c$/m);
});

test("hosting host-names lists host names, and remove-host-name removes one", async () => {
  await using service = await startStandInService();
  service.answers[`GET ${path}`] = { status: 200, body: [hostName] };
  service.answers[`DELETE ${path}/www.site.example`] = { status: 202 };
  const listed = await runCli(service.url, ["hosting", "host-names", "site.example"]);
  assert.match(listed.stdout, /^www\.site\.example +Waiting +_deedhouse/m);
  const removed = await runCli(service.url, ["hosting", "remove-host-name", "site.example", "www.site.example"]);
  assert.deepEqual([removed.exitCode, service.seen.length], [0, 2]);
});
