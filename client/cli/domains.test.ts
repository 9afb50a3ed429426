import assert from "node:assert/strict";
import { test } from "node:test";
import { runCli } from "../testing/run-cli.ts";
import { accepted, refuse, startStandInService } from "../testing/stand-in-service.ts";

const domain = { domain_name: "example.com", expiration_date: "2027-04-18T07:45:21.187Z", will_renew: true };
const orderCode = "REG-8F3K2M1Q-7XW";
const registerTarget = "POST /v1/domains/registrations";
const orderTarget = `GET /v1/orders/${orderCode}`;

function order(status: string, checkAfterSeconds?: number) {
  const headers: Record<string, string> = {};
  if (checkAfterSeconds !== undefined) headers["check-after"] = String(checkAfterSeconds);
  return { status: 200, headers, body: { order_code: orderCode, status } };
}

test("domains list prints an aligned table and says how to see the rest", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains?take=2"] = {
    status: 200,
    headers: { "x-paging-skipped": "0", "x-paging-take": "2", "x-paging-totalresults": "3" },
    body: [domain, { ...domain, domain_name: "a-longer-example.com", will_renew: false }],
  };
  const { exitCode, stdout, stderr } = await runCli(service.url, ["domains", "list", "--take", "2"]);
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    "DOMAIN_NAME           EXPIRATION_DATE           WILL_RENEW\n" +
      "example.com           2027-04-18T07:45:21.187Z  true\n" +
      "a-longer-example.com  2027-04-18T07:45:21.187Z  false\n",
  );
  assert.equal(stderr, "2 of 3; continue with --skip 2, or use --all\n");
});

test("domains list --all --json prints every page as one array", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains?take=100"] = {
    status: 200,
    headers: { link: '</v1/domains?cursor=0a1b>; rel="next"' },
    body: [domain],
  };
  service.answers["GET /v1/domains?cursor=0a1b"] = { status: 200, body: [{ ...domain, domain_name: "z.com" }] };
  const { exitCode, stdout } = await runCli(service.url, ["domains", "list", "--all", "--json"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), [domain, { ...domain, domain_name: "z.com" }]);
});

test("domains list of an empty portfolio leaves stdout empty, and --json prints []", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains"] = { status: 200, body: [] };
  assert.equal((await runCli(service.url, ["domains", "list"])).stdout, "");
  assert.equal((await runCli(service.url, ["domains", "list", "--json"])).stdout, "[]\n");
});

test("domains departures lists names that have left, and --all follows every page", async () => {
  await using service = await startStandInService();
  const moved = {
    domain_name: "example.com",
    left_at: "2027-04-18T07:45:21.187Z",
    reason: "transferred",
    gaining_registrar: "rival",
  };
  service.answers["GET /v1/domains/departures"] = { status: 200, body: [moved] };
  const { exitCode, stdout } = await runCli(service.url, ["domains", "departures"]);
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    "DOMAIN_NAME  LEFT_AT                   REASON       GAINING_REGISTRAR\n" +
      "example.com  2027-04-18T07:45:21.187Z  transferred  rival\n",
  );
  service.answers["GET /v1/domains/departures?take=100"] = { status: 200, body: [moved] };
  const all = await runCli(service.url, ["domains", "departures", "--all", "--json"]);
  assert.deepEqual(JSON.parse(all.stdout), [moved]);
});

test("domains get prints fields with control characters made harmless", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: { ...domain, status: "\u001b[31mred" } };
  const { exitCode, stdout } = await runCli(service.url, ["domains", "get", "example.com"]);
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    "domain_name      example.com\nexpiration_date  2027-04-18T07:45:21.187Z\nwill_renew       true\n" +
      "status           �[31mred\n",
  );
});

test("domains get exits with 4 when the name is not in the portfolio", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/example.com"] = refuse(404, "domain_not_found");
  const { exitCode, stdout, stderr } = await runCli(service.url, ["domains", "get", "example.com"]);
  assert.equal(exitCode, 4);
  assert.equal(stdout, "");
  assert.equal(stderr, "deedhouse: Text of domain_not_found. (domain_not_found)\nRequest id: req-1\n");
});

test("domains list asks for the names that its filters select, on every page", async () => {
  await using service = await startStandInService();
  const filter = "name_prefix=shop&expires_before=2027-01-31&will_renew=false";
  service.answers[`GET /v1/domains?${filter}`] = { status: 200, body: [domain] };
  service.answers[`GET /v1/domains?${filter}&take=100`] = { status: 200, body: [domain] };
  const args = ["domains", "list", "--prefix", "shop", "--expires-before", "2027-01-31", "--will-renew", "false"];
  for (const more of [[], ["--all"]]) {
    const { exitCode, stdout, stderr } = await runCli(service.url, [...args, ...more, "--json"]);
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), [domain]);
  }
  assert.equal((await runCli(service.url, ["domains", "list", "--will-renew", "maybe"])).exitCode, 2);
});

test("domains availability prints one line for each name, in the order asked", async () => {
  await using service = await startStandInService();
  service.answers["GET /v1/domains/availability?names=b.example%2Cm%C3%BCnchen.example%2Ca.example"] = {
    status: 200,
    body: [
      { domain_name: "b.example", availability: "available", premium: { amount: "100.00", currency: "EUR" } },
      { domain_name: "xn--mnchen-3ya.example", availability: "available" },
      { domain_name: "a.example", availability: "taken", reason: "You registered this name." },
    ],
  };
  const names = ["b.example", "münchen.example", "a.example"];
  const { exitCode, stdout } = await runCli(service.url, ["domains", "availability", ...names]);
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    "DOMAIN_NAME             AVAILABILITY  PREMIUM.AMOUNT  PREMIUM.CURRENCY  REASON\n" +
      "b.example               available     100.00          EUR\n" +
      "xn--mnchen-3ya.example  available\n" +
      "a.example               taken                                           You registered this name.\n",
  );
  const json = await runCli(service.url, ["domains", "availability", ...names, "--json"]);
  assert.equal(JSON.parse(json.stdout)[2].availability, "taken");
});

test("domains register prints the order code and does not wait without --wait", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 10);
  const args = ["domains", "register", "example.com", "--idempotency-key", "order-17"];
  const plain = await runCli(service.url, args);
  assert.equal(plain.exitCode, 0);
  assert.match(plain.stdout, new RegExp(`^order_code +${orderCode}$`, "m"));
  const json = await runCli(service.url, [...args, "--json"]);
  assert.deepEqual(JSON.parse(json.stdout), {
    order_code: orderCode,
    location: `/v1/domains/registrations/${orderCode}`,
    check_after: 10,
  });
  for (const request of service.seen) {
    assert.equal(request.target, "/v1/domains/registrations");
    assert.equal(request.body, '{"domain_name":"example.com"}');
    assert.equal(request.headers["idempotency-key"], "order-17");
  }
});

test("domains register --wait obeys check-after, shows each status and ends with the domain", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 7);
  service.answers[orderTarget] = [
    order("Processing", 3),
    order("Processing", 2),
    order("Pending", 60),
    order("Finished"),
  ];
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  const { exitCode, stdout, stderr } = await runCli(service.url, ["domains", "register", "example.com", "--wait"]);
  assert.equal(exitCode, 0);
  assert.equal(
    stderr,
    [
      `${orderCode} accepted`,
      "slept 0 s",
      `${orderCode} Processing: in progress, next look in 3 s`,
      "slept 3 s",
      "slept 2 s",
      `${orderCode} Pending: at the registry, next look in 60 s`,
      "slept 60 s",
      `${orderCode} Finished: done`,
      "",
    ].join("\n"),
  );
  assert.equal(
    stdout,
    `order_code  ${orderCode}\n` +
      "domain_name      example.com\nexpiration_date  2027-04-18T07:45:21.187Z\nwill_renew       true\n",
  );
});

test("domains register --wait does not poll a service that holds its answers", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 10);
  const processing = order("Processing", 10);
  service.answers[orderTarget] = [
    { ...processing, headers: { ...processing.headers, "preference-applied": "wait=30" } },
    order("Finished"),
  ];
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  const { stderr } = await runCli(service.url, ["domains", "register", "example.com", "--wait"]);
  const progress = [`${orderCode} accepted`, `${orderCode} Processing: in progress`, `${orderCode} Finished: done`];
  assert.deepEqual(
    stderr.split("\n").filter((line) => line !== "" && line !== "slept 0 s"),
    progress,
  );
});

test("domains register --wait --json prints one object: the order with the domain in it", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 1);
  service.answers[orderTarget] = order("Finished");
  service.answers["GET /v1/domains/example.com"] = { status: 200, body: domain };
  const { stdout } = await runCli(service.url, ["domains", "register", "example.com", "--wait", "--json"]);
  assert.deepEqual(JSON.parse(stdout), { order_code: orderCode, status: "Finished", domain });
});

test("domains register --wait exits with 6 when the order ends in failure", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 1);
  for (const status of ["Errors", "FailedValidation", "Cancelled"]) {
    service.answers[orderTarget] = order(status);
    const { exitCode, stderr } = await runCli(service.url, ["domains", "register", "example.com", "--wait"]);
    assert.equal(exitCode, 6);
    assert.match(stderr, new RegExp(`deedhouse: order ${orderCode} ended as ${status}: `));
  }
});

test("domains register --wait exits with 7 when the time runs out, and prints the order's status", async () => {
  await using service = await startStandInService();
  service.answers[registerTarget] = accepted(`/v1/domains/registrations/${orderCode}`, 5);
  service.answers[orderTarget] = order("Pending", 3600);
  const args = ["domains", "register", "example.com", "--wait", "--timeout", "90s", "--json"];
  const { exitCode, stdout, stderr } = await runCli(service.url, args);
  assert.equal(exitCode, 7);
  assert.deepEqual(JSON.parse(stdout), { order_code: orderCode, status: "Pending" });
  assert.match(stderr, /slept 0 s\n[^\n]*Pending[^\n]*\nslept 90 s\n/);
  assert.match(stderr, new RegExp(`Follow it with: deedhouse orders get ${orderCode} --wait`));
});

test("domains register exits with 3 on a refusal, and points to the order that has the name", async () => {
  await using service = await startStandInService();
  const location = `/v1/domains/registrations/${orderCode}`;
  service.answers[registerTarget] = refuse(400, "domain_availability_taken", { location });
  const { exitCode, stderr } = await runCli(service.url, ["domains", "register", "example.com"]);
  assert.equal(exitCode, 3);
  assert.match(stderr, /\(domain_availability_taken\)/);
  assert.match(stderr, new RegExp(`See the order: deedhouse orders get ${orderCode}`));
});

test("orders get prints the order, and with --wait follows it", async () => {
  await using service = await startStandInService();
  service.answers[orderTarget] = [order("Errors"), order("Processing", 4), order("Finished")];
  const look = await runCli(service.url, ["orders", "get", orderCode]);
  assert.equal(look.exitCode, 0);
  assert.equal(look.stdout, `order_code  ${orderCode}\nstatus      Errors\n`);
  const followed = await runCli(service.url, ["orders", "get", orderCode, "--wait", "--json"]);
  assert.equal(followed.exitCode, 0);
  assert.deepEqual(JSON.parse(followed.stdout), { order_code: orderCode, status: "Finished" });
  assert.match(followed.stderr, /slept 4 s/);
});

test("domains renewals lists a status page after page", async () => {
  await using service = await startStandInService();
  const renewal = { domain_name: "example.com", status: "Lapsing", will_renew: false };
  service.answers["GET /v1/renewals?status=Lapsing&take=100"] = {
    status: 200,
    headers: { link: '</v1/renewals?status=Lapsing&take=100&cursor=0a1b>; rel="next"' },
    body: [renewal],
  };
  service.answers["GET /v1/renewals?status=Lapsing&take=100&cursor=0a1b"] = { status: 200, body: [] };
  const args = ["domains", "renewals", "--status", "Lapsing", "--all", "--json"];
  const { exitCode, stdout } = await runCli(service.url, args);
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), [renewal]);
});

test("domains renewals accepts a status in any case, and lists the statuses when it is unknown", async () => {
  await using service = await startStandInService();
  const renewal = { domain_name: "example.com", status: "Renewed" };
  service.answers["GET /v1/renewals?status=Renewed"] = { status: 200, body: [renewal] };
  for (const status of ["renewed", "RENEWED"]) {
    const args = ["domains", "renewals", "--status", status, "--json"];
    const { exitCode, stdout, stderr } = await runCli(service.url, args);
    assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: "" });
    assert.deepEqual(JSON.parse(stdout), [renewal]);
  }
  const { exitCode, stderr } = await runCli(service.url, ["domains", "renewals", "--status", "renew"]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /'renew' is invalid. Allowed choices are Scheduled, .*, Renewed, Ended\./);
});
