import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, startStandInService } from "../testing/stand-in-service.ts";

const orderCode = "CHG-8F3K2M1Q-7XW";
const finished = { order_code: orderCode, kind: "nameservers", domain_name: "example.com", status: "Finished" };
const ordered = accepted(`/v1/orders/${orderCode}`, 1);

test("domains nameservers sends hosts with their addresses, and --wait follows the order to its end", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/domains/example.com/nameservers"] = ordered;
  service.answers[`GET /v1/orders/${orderCode}`] = { status: 200, body: finished };
  const hosts = ["ns1.example.com=9.9.9.9,2620:fe::9", "ns2.dns-host.net"];
  const args = ["domains", "nameservers", "example.com", ...hosts, "--idempotency-key", "key-1"];
  const { exitCode, stdout } = await runCli(service.url, [...args, "--wait", "--json"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), finished);
  assert.deepEqual(JSON.parse(service.seen[0]!.body), {
    name_servers: [{ name: "ns1.example.com", addresses: ["9.9.9.9", "2620:fe::9"] }, { name: "ns2.dns-host.net" }],
  });
  assert.equal(service.seen[0]!.headers["idempotency-key"], "key-1");
});

test("domains nameservers --wait exits with 6 when the order failed, with the registry's reason", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/domains/example.com/nameservers"] = ordered;
  const body = { ...finished, status: "FailedValidation", error_text: "the host must exist" };
  service.answers[`GET /v1/orders/${orderCode}`] = { status: 200, body };
  const { exitCode, stderr } = await runCli(service.url, [
    "domains",
    "nameservers",
    "example.com",
    "ns.a.net",
    "--wait",
  ]);
  assert.equal(exitCode, 6);
  assert.match(stderr, /ended as FailedValidation: the host must exist/);
});

test("domains nameservers removes all only with --none, and asks first", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/domains/example.com/nameservers"] = ordered;
  const run = (...more: string[]) => runCli(service.url, ["domains", "nameservers", "example.com", ...more]);
  assert.equal((await run()).exitCode, 2);
  assert.equal((await run("ns.a.net", "--none")).exitCode, 2);
  assert.equal((await run("ns.a.net=")).exitCode, 2);
  assert.equal((await run("--none")).exitCode, 2, "no confirmation is possible");
  assert.equal(service.seen.length, 0);
  assert.equal((await run("--none", "--yes")).exitCode, 0);
  assert.equal(service.seen[0]!.body, '{"name_servers":[]}');
});

test("domains dnssec sends DS records or keys as other tools print them", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/domains/example.com/dnssec"] = ordered;
  const run = (...more: string[]) => runCli(service.url, ["domains", "dnssec", "example.com", ...more]);
  assert.equal((await run("--ds", "3613 15 2 3aa5 ab37", "--ds", "1 13 2 00")).exitCode, 0);
  assert.equal((await run("--dnskey", "257 3 15 l02Woi0iS8Aa25FQkUd9 RMzZHJpBoRQwAQEX1SxZJA4=")).exitCode, 0);
  assert.equal((await run("--none")).exitCode, 0);
  assert.deepEqual(
    service.seen.map(({ body }) => JSON.parse(body)),
    [
      {
        ds: [
          { key_tag: 3613, algorithm: 15, digest_type: 2, digest: "3aa5ab37" },
          { key_tag: 1, algorithm: 13, digest_type: 2, digest: "00" },
        ],
      },
      {
        keys: [{ flags: 257, protocol: 3, algorithm: 15, public_key: "l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=" }],
      },
      { ds: [] },
    ],
  );
  for (const wrong of [[], ["--none", "--ds", "1 13 2 00"], ["--ds", "1 13 00"], ["--dnskey", "x"]]) {
    assert.equal((await run(...wrong)).exitCode, 2, wrong.join(" "));
  }
});

test("domains register sends what is ordered with the name, and --dry-run orders nothing", async () => {
  await using service = await startStandInService();
  const plan = { domain_name: "example.com", years: 2, will_renew: false, name_servers: [{ name: "ns.a.net" }] };
  service.answers["POST /v1/domains/registrations"] = { status: 200, body: plan };
  const options = ["--years", "2", "--name-server", "ns.a.net", "--no-renew", "--dry-run", "--json"];
  const { exitCode, stdout } = await runCli(service.url, ["domains", "register", "example.com", ...options]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), plan);
  assert.deepEqual(JSON.parse(service.seen[0]!.body), { ...plan, dry_run: true });
  await runCli(service.url, ["domains", "register", "example.com", "--allocation-token", "t0ken", "--dry-run"]);
  assert.deepEqual(JSON.parse(service.seen[1]!.body), {
    domain_name: "example.com",
    allocation_token: "t0ken",
    dry_run: true,
  });
});
