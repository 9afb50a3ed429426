import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, startStandInService } from "../testing/stand-in-service.ts";

const orderCode = "CHG-8F3K2M1Q-7XW";
const finished = { order_code: orderCode, domain_name: "example.com", status: "Finished" };
const ordered = accepted(`/v1/orders/${orderCode}`, 1);
const code = { domain_name: "example.com", auth_code: "Xk9-secret", expires_at: "2027-04-18T07:45:21.187Z" };

test("domains lock and unlock order the lock, under a key of their own", async () => {
  await using service = await startStandInService();
  service.answers["PUT /v1/domains/example.com/transfer-lock"] = ordered;
  service.answers[`GET /v1/orders/${orderCode}`] = { status: 200, body: finished };
  const locked = await runCli(service.url, ["domains", "lock", "example.com", "--wait", "--json"]);
  assert.deepEqual([locked.exitCode, JSON.parse(locked.stdout)], [0, finished]);
  const unlocked = await runCli(service.url, ["domains", "unlock", "example.com", "--idempotency-key", "key-1"]);
  assert.equal(unlocked.exitCode, 0);
  const writes = service.seen.filter(({ method }) => method === "PUT");
  assert.deepEqual(
    writes.map(({ body }) => JSON.parse(body)),
    [{ transfer_locked: true }, { transfer_locked: false }],
  );
  assert.match(String(writes[0]!.headers["idempotency-key"]), /^[0-9a-z-]{16,}$/i);
  assert.equal(writes[1]!.headers["idempotency-key"], "key-1");
});

test("domains auth-code --wait shows the code once its order is finished, and --show orders nothing", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/example.com/auth-code"] = ordered;
  service.answers["GET /v1/domains/example.com/auth-code"] = { status: 200, body: code };
  service.answers[`GET /v1/orders/${orderCode}`] = { status: 200, body: finished };
  const waited = await runCli(service.url, ["domains", "auth-code", "example.com", "--wait", "--json"]);
  assert.deepEqual([waited.exitCode, JSON.parse(waited.stdout)], [0, { ...finished, ...code }]);
  const sent = service.seen.length;
  const shown = await runCli(service.url, ["domains", "auth-code", "example.com", "--show", "--json"]);
  assert.deepEqual(JSON.parse(shown.stdout), code);
  assert.equal(service.seen.length, sent + 1);
});

test("domains transfer-out asks before it gives a name away, and rejects with a reason only", async () => {
  await using service = await startStandInService();
  service.answers["POST /v1/domains/example.com/transfer-out"] = ordered;
  const run = (...args: string[]) => runCli(service.url, ["domains", "transfer-out", "example.com", ...args]);
  for (const args of [[], ["--reject", "because"], ["--approve", "--reject", "fraud"], ["--approve"]]) {
    assert.equal((await run(...args)).exitCode, 2, args.join(" "));
  }
  assert.equal(service.seen.length, 0);
  assert.equal((await run("--reject", "fraud")).exitCode, 0);
  assert.equal((await run("--approve", "--yes")).exitCode, 0);
  assert.deepEqual(
    service.seen.map(({ body }) => JSON.parse(body)),
    [{ answer: "reject", reason: "fraud" }, { answer: "approve" }],
  );
});
