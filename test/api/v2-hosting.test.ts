import assert from "node:assert/strict";
import { after, test } from "node:test";
import { compareNode } from "#hosting/nodes/compare.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { noSiteText } from "#nodes/probe.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import type { Reply, SignedRequestOptions } from "../harness/signed-request.ts";
import { readPage } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";

// Hosting accounts behind the door /v2.

const gateway = await startTestGateway({ after }, { node: true });
const { databaseUrl } = gateway;
const { ftpPort, webPort } = gateway.node?.ports ?? {};
const nodes = await openHostingNodes(gateway.context);
after(() => nodes.close());
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const packId = Number(await gateway.addPack());
const password = "Correct-horse-9-battery";

const send = (method: string, path: string, options?: SignedRequestOptions, as: TestReseller = reseller) =>
  gateway.send(as, method, path, options);

/** Follows a new account's job to its end. @returns the account's path */
async function create(account: object, path = "/v2/accounts"): Promise<string> {
  const accepted = await send("POST", path, { body: { servicepack_id: packId, ...account } });
  assert.equal(accepted.status, 202, accepted.text);
  assertFullForm(accepted);
  const job = await jobEnd(accepted.headers.location ?? "");
  assert.equal(job.status, 201, job.text);
  const { resource_links } = job.body as { resource_links: string[] };
  assert.deepEqual(resource_links, [job.headers.location]);
  return resource_links[0] ?? "";
}

async function jobEnd(path: string): Promise<Reply> {
  for (;;) {
    const reply = await send("GET", path, { headers: { prefer: "wait=5" } });
    if (reply.status !== 200 || (reply.body as { status: string }).status !== "ongoing") return reply;
  }
}

const hosting = async (identifier: string) =>
  (await send("GET", `/v2/linuxhostings/${identifier}`)).body as Record<string, unknown>;

async function canLogIn(identifier: string, secret = password): Promise<boolean> {
  try {
    const client = await logInFtp({ host: "127.0.0.1", port: ftpPort! }, identifier, secret);
    client.close();
    return true;
  } catch {
    return false;
  }
}

/** What the nightly comparison finds at the node of an account. */
async function differences(identifier: string) {
  const { findings } = await compareNode(gateway.context, (await nodes.find("embedded"))!, "embedded");
  return findings.filter((finding) => finding.identifier === identifier);
}

test("an account is a job that is followed until it is ready, and has a number", async () => {
  const accepted = await send("POST", "/v2/accounts", {
    body: { servicepack_id: packId, identifier: "Shop.Example", ftp_password: password },
  });
  assert.equal(accepted.status, 202, accepted.text);
  const location = accepted.headers.location ?? "";
  assert.match(location, /^\/v2\/provisioningjobs\/[0-9a-f-]{36}$/);
  assertError(await send("GET", location, {}, rival), "order_not_found");
  const job = await jobEnd(location);
  assert.equal(job.status, 201, job.text);
  const { id, status, resource_links } = job.body as { id: string; status: string; resource_links: string[] };
  assert.deepEqual({ id, status }, { id: location.slice("/v2/provisioningjobs/".length), status: "finished" });
  const [path = ""] = resource_links;
  assert.match(path, /^\/v2\/accounts\/[1-9][0-9]*$/);
  assert.equal(job.headers.location, path);
  const number = Number(path.slice("/v2/accounts/".length));
  const account = await send("GET", path);
  assertFullForm(account);
  assert.deepEqual(account.body, {
    id: number,
    identifier: "shop.example",
    servicepack: { id: packId, name: "Test" },
    addons: [],
  });
  assertError(await send("GET", path, {}, rival), "hostingaccount_invalid_identifier");
  const list = await send("GET", "/v2/accounts?identifier=SHOP.example");
  assert.deepEqual(list.body, [{ id: number, identifier: "shop.example", servicepack_id: packId }]);
  assert.ok(await canLogIn("shop.example"));
});

test("while an account is created its job is ongoing, with an estimate", async (t) => {
  await gateway.stopWorker();
  t.after(() => gateway.startWorker());
  const { headers } = await send("POST", "/v2/accounts", {
    body: { servicepack_id: packId, identifier: "slow.example" },
  });
  const job = await send("GET", headers.location ?? "");
  assert.equal(job.status, 200);
  const { status, completion } = job.body as { status: string; completion: { estimate: string } };
  assert.equal(status, "ongoing");
  assert.ok(Date.parse(completion.estimate) > gateway.context.clock.now().getTime());
  assert.match(job.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
});

test("the job of an account that could not be created is failed, of one that was withdrawn cancelled", async () => {
  const jobOf = async (identifier: string, end: string) => {
    const { headers } = await send("POST", "/v2/accounts", { body: { servicepack_id: packId, identifier } });
    await jobEnd(headers.location ?? "");
    await runSql(databaseUrl, `UPDATE hosting_accounts SET ${end}, ready_at = NULL WHERE identifier = $1`, [
      identifier,
    ]);
    const { status, body } = await send("GET", headers.location ?? "");
    assert.equal(status, 200);
    const job = body as { status: string; completion: { estimate: string } };
    assert.ok(Date.parse(job.completion.estimate) <= gateway.context.clock.now().getTime());
    return job.status;
  };
  assert.equal(await jobOf("fails.example", "status = 'Failed', error_text = 'x'"), "failed");
  assert.equal(await jobOf("goes.example", "status = 'Removed'"), "cancelled");
});

test("a service pack's id is one id as a number, as a string of digits, and behind both doors", async () => {
  const packs = (await send("GET", "/v2/servicepacks")).body;
  assert.deepEqual(packs, [{ id: packId, name: "Test" }]);
  await create({ identifier: "digits.example", servicepack_id: String(packId) });
  const v1 = await send("GET", "/v1/hostingaccounts/digits.example");
  assert.equal((v1.body as { servicepack_id: string }).servicepack_id, String(packId));
  assert.equal((await hosting("digits.example")).servicepack_id, packId);
});

test("a slash at the end of the accounts' path changes nothing", async () => {
  const account = await create({ identifier: "slash.example" }, "/v2/accounts/");
  assert.match(account, /^\/v2\/accounts\/[1-9]/);
  const [with_, without] = [await send("GET", "/v2/accounts/?take=1"), await send("GET", "/v2/accounts?take=1")];
  assert.equal(with_.status, 200);
  assert.deepEqual(with_.body, without.body);
  assert.equal(with_.headers.link, without.headers.link);
  const options = {
    body: { servicepack_id: packId, identifier: "slash-key.example" },
    headers: { "idempotency-key": "slash" },
  };
  const first = await send("POST", "/v2/accounts", options);
  const again = await send("POST", "/v2/accounts/", options);
  assert.equal(again.headers["idempotency-replayed"], "true", again.text);
  assert.equal(again.headers.location, first.headers.location);
});

test("the list can be of one kind of account, or of one identifier", async () => {
  const all = (await send("GET", "/v2/accounts?take=100")).body;
  const hostings = await send("GET", "/v2/accounts?take=100&asset_type=linux_hosting");
  assert.deepEqual(hostings.body, all);
  const domains = await send("GET", "/v2/accounts?asset_type=domain");
  assert.equal(domains.status, 200);
  assert.deepEqual(domains.body, []);
  assert.equal(domains.headers["x-paging-totalresults"], "0");
  const one = await send("GET", "/v2/accounts?asset_type=linux_hosting&identifier=shop.example&take=99999");
  const paging = ["skipped", "take", "totalresults"].map((name) => one.headers[`x-paging-${name}`]);
  assert.deepEqual(paging, ["0", "100", "1"]);
  const first = /<([^>]+)>; rel="first"/.exec(one.headers.link ?? "")?.[1] ?? "";
  assert.deepEqual((await send("GET", first)).body, one.body);
  assert.deepEqual((await send("GET", "/v2/accounts?identifier=shop.example&skip=1")).body, []);
  for (const [identifier, as] of [
    ["nobodys.example", reseller],
    ["shop.example", rival],
  ] as const) {
    assert.deepEqual((await send("GET", `/v2/accounts?identifier=${identifier}`, {}, as)).body, []);
  }
});

test("an identifier that exists leads to the caller's own site", async () => {
  const body = { servicepack_id: packId, identifier: "shop.example" };
  const reply = await send("POST", "/v2/accounts", { body });
  assertError(reply, "hosting_already_exist");
  assert.equal(reply.headers.location, "/v2/linuxhostings/shop.example");
  assert.equal((await hosting("shop.example")).domain_name, "shop.example");
});

test("a site is shown with every field, none of them null", async () => {
  await runSql(
    databaseUrl,
    "UPDATE hosting_accounts SET disk_quota_bytes = 2500000, disk_used_bytes = 1000001 WHERE identifier = 'shop.example'",
  );
  const listed = (await send("GET", "/v2/linuxhostings?take=100")).body as { domain_name: string }[];
  assert.deepEqual(
    listed.find(({ domain_name }) => domain_name === "shop.example"),
    { domain_name: "shop.example", servicepack_id: packId },
  );
  assert.deepEqual(await hosting("shop.example"), {
    domain_name: "shop.example",
    servicepack_id: packId,
    max_size: 2,
    actual_size: 2,
    max_webspace_size: 2,
    webspace_usage: 2,
    ip: "127.0.0.1",
    ip_type: "shared",
    ftp_enabled: true,
    ftp_username: "shop.example",
    ssh_host: "",
    ssh_username: "",
    php_version: "",
    sites: [
      {
        name: "shop.example",
        path: "/www",
        host_headers: [
          { name: "shop.example.localhost", enabled: true },
          { name: "shop.example", enabled: true },
        ],
        ssl_enabled: false,
        https_redirect_enabled: false,
        http2_enabled: false,
      },
    ],
    mysql_database_names: [],
  });
});

test("an account without a password serves its site, and nobody can log in until one is set", async () => {
  await create({ identifier: "open.example", ftp_password: null });
  assert.equal((await hosting("open.example")).ftp_enabled, false);
  const v1 = (await send("GET", "/v1/hostingaccounts/open.example")).body as { status: string; ftp: object };
  assert.equal(v1.status, "Ready");
  assert.deepEqual(v1.ftp, { host: "127.0.0.1", port: ftpPort, username: "open.example", enabled: false });
  const page = await readPage({ host: "127.0.0.1", port: webPort! }, "open.example.localhost", "/");
  assert.notEqual(page.body.trim(), noSiteText);
  assert.deepEqual(await differences("open.example"), []);
  for (const guess of ["", "open.example", password]) assert.equal(await canLogIn("open.example", guess), false);
  const path = "/v2/linuxhostings/open.example/ftp/configuration";
  const { error_text } = assertError(await send("PUT", path, { body: { enabled: true } }), "bad_request");
  assert.match(error_text, /password/);
  const set = await send("PUT", "/v1/hostingaccounts/open.example/password", { body: { password } });
  assert.equal(set.status, 202, set.text);
  await until("the password works", () => canLogIn("open.example"));
  assert.equal((await hosting("open.example")).ftp_enabled, true);
});

test("FTP is disabled and enabled again, and a repeat changes nothing", async () => {
  await create({ identifier: "ftp.example.test", ftp_password: password });
  const configure = async (enabled: boolean) => {
    const reply = await send("PUT", "/v2/linuxhostings/ftp.example.test/ftp/configuration", { body: { enabled } });
    assert.equal(reply.status, 204, reply.text);
    assert.equal(reply.text, "");
  };
  assert.ok(await canLogIn("ftp.example.test"));
  await configure(false);
  await until("logins are refused", async () => !(await canLogIn("ftp.example.test")));
  assert.equal((await hosting("ftp.example.test")).ftp_enabled, false);
  await until("the node agrees", async () => (await differences("ftp.example.test")).length === 0);
  // A new password does not undo it.
  await send("PUT", "/v1/hostingaccounts/ftp.example.test/password", { body: { password } });
  await configure(false);
  assert.equal((await hosting("ftp.example.test")).ftp_enabled, false);
  await configure(true);
  await until("logins work", () => canLogIn("ftp.example.test"));
  const history = (await send("GET", "/v1/hostingaccounts/ftp.example.test/history")).body as {
    history: { event: string }[];
  };
  assert.equal(history.history.filter(({ event }) => event === "ftp-wanted").length, 2);
});

test("FTP cannot be enabled in a service pack without it", async () => {
  await create({ identifier: "web-only.example", ftp_password: password });
  await runSql(databaseUrl, "UPDATE service_packs SET features = '{}' WHERE id = $1", [packId]);
  const path = "/v2/linuxhostings/web-only.example/ftp/configuration";
  const refused = await send("PUT", path, { body: { enabled: true } });
  await runSql(databaseUrl, "UPDATE service_packs SET features = '{ftp}' WHERE id = $1", [packId]);
  assert.match(assertError(refused, "bad_request").error_text, /service pack/);
});

test("the job of an account that was removed later stays finished", async () => {
  const { headers } = await send("POST", "/v2/accounts", {
    body: { servicepack_id: packId, identifier: "later.example" },
  });
  const job = await jobEnd(headers.location ?? "");
  assert.equal((await send("DELETE", "/v1/hostingaccounts/later.example")).status, 202);
  const account = job.headers.location ?? "";
  await until("the account is removed", async () => (await send("GET", account)).status === 403);
  assert.deepEqual((await send("GET", headers.location ?? "")).body, job.body);
});

test("a DELETE may be signed as del, and have the body []", async () => {
  const refused = await send("DELETE", "/v2/accounts", { body: "[]", signedMethod: "del" });
  assertError(refused, "method_not_allowed");
  await create({ identifier: "removed.example" });
  const target = "/v1/hostingaccounts/removed.example";
  const reply = await send("DELETE", target, { body: "[]", signedMethod: "del" });
  assert.equal(reply.status, 202, reply.text);
});
