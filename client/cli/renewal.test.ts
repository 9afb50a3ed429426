import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { refuse, startStandInService } from "../testing/stand-in-service.ts";

const target = "PUT /v1/domains/example.com/renew";

test("domains renewal switches the automatic renewal on or off", async () => {
  await using service = await startStandInService();
  service.answers[target] = { status: 204 };
  for (const [word, willRenew] of [
    ["off", false],
    ["on", true],
  ] as const) {
    const args = ["domains", "renewal", word, "example.com", "--json"];
    const { exitCode, stdout, stderr } = await runCli(service.url, args);
    assert.deepEqual([exitCode, stderr], [0, ""]);
    assert.deepEqual(JSON.parse(stdout), { domain_name: "example.com", will_renew: willRenew });
    assert.deepEqual(JSON.parse(service.seen.at(-1)!.body), { will_renew: willRenew });
  }
});

test("domains renewal wants on or off, and exits with 3 once the registry is carrying it out", async () => {
  await using service = await startStandInService();
  for (const args of [["example.com"], ["maybe", "example.com"], ["on"]]) {
    const { exitCode, stderr } = await runCli(service.url, ["domains", "renewal", ...args]);
    assert.deepEqual([exitCode, service.seen.length], [2, 0], stderr);
  }
  service.answers[target] = refuse(409, "domain_renewal_underway");
  const { exitCode, stderr } = await runCli(service.url, ["domains", "renewal", "on", "example.com"]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /domain_renewal_underway/);
});

test("the earlier words still work, and say in one sentence what the word is now", async () => {
  await using service = await startStandInService();
  service.answers[target] = { status: 204 };
  service.answers["GET /v1/orders"] = { status: 200, body: [] };
  const off = await runCli(service.url, ["domains", "renew", "example.com", "--off", "--json"]);
  assert.deepEqual(JSON.parse(off.stdout), { domain_name: "example.com", will_renew: false });
  assert.equal(off.stderr, "deedhouse domains renew --off is now deedhouse domains renewal off.\n");
  const both = await runCli(service.url, ["domains", "renew", "example.com", "--on", "--off"]);
  assert.equal(both.exitCode, 2);
  const orders = await runCli(service.url, ["domains", "orders", "--json"]);
  assert.deepEqual(
    [orders.stdout, orders.stderr],
    ["[]\n", "deedhouse domains orders is now deedhouse orders list.\n"],
  );
  const renew = await runCli(service.url, ["domains", "renew-now", "example.com"]);
  assert.match(renew.stderr, /^deedhouse domains renew-now is now deedhouse domains renew\.\n/);
  const help = await runCli(service.url, ["domains", "--help"]);
  assert.doesNotMatch(help.stdout, /renew-now|^ {2}orders/m);
});
