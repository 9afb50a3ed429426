import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { startStandInService } from "../testing/stand-in-service.ts";

const order = {
  order_code: "CHG-8F3K2M1Q-7XW",
  kind: "transfer-lock",
  domain_name: "example.com",
  status: "Finished",
  created_at: "2027-04-18T07:45:21.187Z",
};
const older = { ...order, order_code: "REG-8F3K2M1Q-7XW", kind: "create" };

test("orders list lists the orders that fit the filter, and --all follows every page", async () => {
  await using service = await startStandInService();
  const filter = "domain_name=example.com&kind=create&status=Finished";
  const link = `</v1/orders?${filter}&take=100&cursor=ab>; rel="next"`;
  service.answers[`GET /v1/orders?${filter}&take=100`] = { status: 200, body: [order], headers: { link } };
  service.answers[`GET /v1/orders?${filter}&take=100&cursor=ab`] = { status: 200, body: [older] };
  const options = ["--domain-name", "example.com", "--kind", "create", "--status", "finished"];
  const { exitCode, stdout } = await runCli(service.url, ["orders", "list", ...options, "--all", "--json"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), [order, older]);
});

test("domains history shows each event in a line, with its order", async () => {
  await using service = await startStandInService();
  const at = "2027-04-18T07:45:21.187Z";
  const events = [
    { at, event: "renewed", text: "until 2028" },
    { at, event: "ordered", order },
  ];
  service.answers["GET /v1/domains/example.com/history"] = { status: 200, body: events };
  const { exitCode, stdout } = await runCli(service.url, ["domains", "history", "example.com"]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /renewed .* until 2028\n.*ordered +CHG-8F3K2M1Q-7XW +transfer-lock +Finished\n/);
});

test("orders get reads orders of every kind", async () => {
  await using service = await startStandInService();
  service.answers[`GET /v1/orders/${order.order_code}`] = { status: 200, body: order };
  const { exitCode, stdout } = await runCli(service.url, ["orders", "get", order.order_code, "--json"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), order);
});
