import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { createLog } from "#lib/log.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { authorize, newNonce } from "../harness/signed-request.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";

const startSeconds = 1_700_000_001;
const clock = createManualClock(startSeconds);
const folder = await mkdtemp(join(tmpdir(), "deedhouse-signature-check-"));
const logFile = join(folder, "log");
const logFd = openSync(logFile, "a");
const gateway = await startTestGateway(
  { after },
  { clock, worker: false, proxy: true, context: { log: createLog("test", "trace", logFd) } },
);
after(async () => {
  closeSync(logFd);
  await rm(folder, { recursive: true, force: true });
});
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();

const path = "/v1/signature-check";
interface Match {
  key: string;
  signed: boolean | null;
  text: string;
  string_to_sign?: number;
}
interface Shown {
  form: string | null;
  clock: Record<string, unknown>;
  authorization: { strings_to_sign: { text: string }[] } | null;
  problems: { header: string; problem: string }[];
  match?: Match | null;
}

/** A request of the reseller's, as it is described. */
function describe(
  { key }: TestReseller,
  parts: { method?: string; target?: string; body?: string; nonce?: string } = {},
) {
  const { method = "GET", target = "/v1/domains?take=5", body = "", nonce = newNonce() } = parts;
  const authorization = authorize({ key, clock, method, target, body, nonce });
  return { method, target, headers: { host: "api.example", authorization }, body };
}
/** The statements that requests executed: they have names, while the heartbeat and a connection's first words are texts. */
const queries = () => gateway.proxy.executed.filter((name) => /^[a-z-]+$/.test(name));
/** Addresses of the loopback network, so that each test has a budget of its own. */
let addresses = 1;
const newAddress = () => `127.0.1.${addresses++}`;
const ask = (body: unknown, localAddress = newAddress(), target = path) =>
  gateway.send(reseller, "POST", target, { authorization: null, body, localAddress });
const askSigned = (as: TestReseller, body: unknown, headers = {}) => gateway.send(as, "POST", path, { body, headers });

test("without a signature, shows the texts that the service accepts, and says nothing about the key", async () => {
  gateway.proxy.executed.length = 0;
  const known = describe(reseller);
  const reply = await ask(known);
  assertFullForm(reply);
  assert.equal(reply.status, 200, reply.text);
  const shown = reply.body as Shown;
  const [, signature] = known.headers.authorization.split(":");
  const hmac = (text: string) => createHmac("sha256", reseller.key.secret.reveal()).update(text).digest("base64");
  assert.ok(shown.authorization?.strings_to_sign.some(({ text }) => hmac(text) === signature));
  assert.equal(shown.match, undefined);
  assert.ok(!reply.text.includes(signature!));

  const wrong = { ...known, headers: { authorization: known.headers.authorization.replace(signature!, hmac("x")) } };
  assert.equal((await ask(wrong)).text, reply.text, "a wrong signature gets the same answer as a right one");
  const unknown = known.headers.authorization.replace(reseller.key.id, "0".repeat(32));
  const other = await ask({ ...known, headers: { authorization: unknown } });
  assert.equal(other.text.replaceAll("0".repeat(32), reseller.key.id), reply.text, "and so does an unknown key");
  assert.deepEqual(queries(), [], "nothing is looked up");
});

test("is served bare and under /v1, and the request that it describes can still be sent", async () => {
  const request = describe(reseller);
  for (const target of ["/signature-check", "/v1/signature-check", "/v1/Signature-Check?x=1"]) {
    assert.equal((await ask(request, newAddress(), target)).status, 200, target);
  }
  assert.equal((await askSigned(reseller, request)).status, 200);
  const { authorization } = request.headers;
  const sent = await gateway.send(reseller, "GET", request.target, { authorization });
  assert.equal(sent.status, 200, "the nonce is not taken");
});

test("says how far the clock is off, and whether that is accepted", async () => {
  const request = describe(reseller);
  const at = async (seconds: number) => {
    clock.set(startSeconds + seconds);
    return (await ask(request)).body as Shown;
  };
  const [inside, outside] = [await at(300), await at(301)];
  clock.set(startSeconds);
  assert.deepEqual([inside.clock.skew_seconds, inside.clock.inside_window, inside.clock.accepted], [-300, true, true]);
  assert.deepEqual(
    [outside.clock.skew_seconds, outside.clock.inside_window, outside.clock.accepted],
    [-301, false, false],
  );
  assert.deepEqual(inside.problems, []);
  assert.match(outside.problems[0]?.problem ?? "", /301 s behind; at most 300 s/);
});

test("a source may ask thirty times a minute, and uses up none of its failures", async () => {
  const address = newAddress();
  const request = describe(reseller);
  for (let usage = 1; usage <= 30; usage++) {
    const { status, headers } = await ask(usage % 2 ? request : "{", address);
    assert.equal(status, usage % 2 ? 200 : 400);
    assert.deepEqual([headers["x-ratelimit-limit"], headers["x-ratelimit-usage"]], ["30", String(usage)]);
  }
  assertError(await ask(request, address), "rate_limit_exceeded");
  assert.equal((await ask(request)).status, 200, "another source has its own budget");
  const refused = await gateway.send(reseller, "GET", "/domains", { authorization: "hmac", localAddress: address });
  assertError(refused, "auth_authorization_header_invalid_format");
  assert.equal(refused.headers["x-ratelimit-usage"], "1", "it is the first failure of the source");
  clock.set(startSeconds);
  clock.advance(60_000);
  assert.equal((await ask(request, address)).status, 200, "after a minute it may ask again");
  clock.set(startSeconds);
});

test("a source without failures left may still ask", async () => {
  const address = newAddress();
  const server = await startTestGateway({ after }, { clock, worker: false, server: { sourceFailuresMax: 1 } });
  const send = (method: string, target: string, body?: unknown) =>
    server.send(reseller, method, target, { authorization: null, body, localAddress: address });
  assertError(await send("GET", "/domains"), "auth_authorization_header_invalid_format");
  assertError(await send("GET", "/domains"), "rate_limit_exceeded");
  assert.equal((await send("POST", path, describe(reseller))).status, 200);
});

test("a signed call says whether a key of its own account has signed the request, and which text", async () => {
  const second = await gateway.addKey(reseller);
  for (const [request, index] of [
    [describe(second), 0],
    [describe(second, { method: "POST", target: "/v1/domains/registrations", body: "{}" }), 0],
  ] as const) {
    const { match } = (await askSigned(reseller, request)).body as Shown;
    assert.deepEqual([match?.key, match?.signed, match?.string_to_sign], ["active", true, index]);
  }
  const upper = describe(second, { target: "/v1/Domains" });
  const lower = authorize({ key: second.key, clock, method: "GET", target: "/v1/domains" });
  const { match, authorization } = (await askSigned(reseller, { ...upper, headers: { authorization: lower } }))
    .body as Shown;
  assert.equal(match?.signed, true);
  assert.match(authorization?.strings_to_sign[match?.string_to_sign ?? 0]?.text ?? "", /%2Fv1%2Fdomains/);

  const wrong = describe(second, { body: "{}" });
  const { match: none } = (await askSigned(reseller, { ...wrong, body: "{} " })).body as Shown;
  assert.deepEqual([none?.key, none?.signed, none?.string_to_sign], ["active", false, undefined]);
  const unreadable = { ...wrong, headers: {} };
  assert.equal(((await askSigned(reseller, unreadable)).body as Shown).match, null);
});

test("a signed call says that its account's key is revoked or expired", async () => {
  for (const [state, assignment] of [
    ["revoked", "revoked_at = now()"],
    ["expired", `expires_at = to_timestamp(${startSeconds})`],
  ]) {
    const key = await gateway.addKey(reseller);
    await runSql(gateway.databaseUrl, `UPDATE api_keys SET ${assignment} WHERE id = '${key.key.id}'`);
    const { match } = (await askSigned(reseller, describe(key))).body as Shown;
    assert.deepEqual([match?.key, match?.signed], [state, true]);
  }
});

test("another reseller's key looks like one that does not exist, in answer and queries", async () => {
  const right = describe(rival);
  const unknownId = "f".repeat(32);
  const unknown = right.headers.authorization.replace(rival.key.id, unknownId);
  const answers: string[] = [];
  for (const authorization of [right.headers.authorization, unknown]) {
    gateway.proxy.executed.length = 0;
    const reply = await askSigned(reseller, { ...right, headers: { authorization } });
    assert.equal((reply.body as Shown).match?.signed, null);
    answers.push(`${reply.text.replaceAll(rival.key.id, unknownId)} ${queries()}`);
  }
  assert.equal(answers[0], answers[1]);
});

test("a signed call passes all checks: a bad signature counts as a failure, its nonce is used, and it counts for its reseller", async () => {
  const localAddress = newAddress();
  const bad = authorize({ key: reseller.key, clock, method: "POST", target: path, body: "other" });
  const body = describe(reseller);
  const refused = await gateway.send(reseller, "POST", path, { body, authorization: bad, localAddress });
  assertError(refused, "authorization_hmac_invalid");
  assert.equal(refused.headers["x-ratelimit-usage"], "1");
  const nonce = newNonce();
  const served = await gateway.send(reseller, "POST", path, { body, nonce });
  assert.equal(served.headers["x-ratelimit-limit"], "100000");
  assertError(await gateway.send(reseller, "POST", path, { body, nonce }), "authorization_nonce_reused");
  const wrongMethod = await gateway.send(reseller, "GET", path);
  assert.equal(wrongMethod.headers.allow, "POST", assertError(wrongMethod, "method_not_allowed").error_text);
});

test("takes the largest request that the API takes, and says where its limits are", async () => {
  const largest = { ...describe(reseller, { target: `/${"a".repeat(8_191)}` }), body: undefined };
  const body_base64 = Buffer.alloc(65_536).toString("base64");
  const reply = await ask({ ...largest, body_base64 });
  assert.equal(reply.status, 200, reply.text);
  const fields = async (change: object) => {
    const { validation_errors = [] } = assertError(await ask({ ...largest, ...change }), "bad_request");
    return validation_errors.map(({ field }) => field).join();
  };
  assert.equal(await fields({ body_base64: Buffer.alloc(65_537).toString("base64") }), "body_base64");
  assert.equal(await fields({ target: `/${"a".repeat(8_192)}` }), "target");
  assert.equal(await fields({ headers: Array.from({ length: 101 }, () => ["x", "y"]) }), "headers");
  assert.match(assertError(await ask(" ".repeat(128 * 1024 + 1)), "request_too_large").error_text, /128 KiB/);
  assertError(await askSigned(reseller, " ".repeat(128 * 1024 + 1)), "request_too_large");
  const elsewhere = { body: " ".repeat(64 * 1024 + 1) };
  assertError(await gateway.send(reseller, "POST", "/domains/registrations", elsewhere), "request_too_large");
});

test("names the field of a description that is wrong, and repeats no value", async () => {
  const good = describe(reseller);
  const mistakes: [change: object, field: string][] = [
    [{ method: "get" }, "method"],
    [{ method: undefined }, "method"],
    [{ target: 1 }, "target"],
    [{ target: "domains" }, "target"],
    [{ target: "/a b" }, "target"],
    [{ target: "/é" }, "target"],
    [{ headers: undefined }, "headers"],
    [{ headers: "hunter2" }, "headers"],
    [{ headers: { authorization: 1 } }, "headers"],
    [{ headers: [["authorization"]] }, "headers"],
    [{ headers: { "hunter 2": "x" } }, "headers"],
    [{ headers: { a: "hunter2\r\nb: c" } }, "headers"],
    [{ body: 1 }, "body"],
    [{ body: "", body_base64: "" }, "body_base64"],
    [{ body: undefined, body_base64: "hunter2" }, "body_base64"],
  ];
  for (const [change, field] of mistakes) {
    const { validation_errors } = assertError(await ask({ ...good, ...change }), "bad_request");
    assert.deepEqual(
      validation_errors?.map((error) => error.field),
      [field],
      JSON.stringify(change),
    );
    assert.ok(!JSON.stringify(validation_errors).includes("hunter"));
  }
  for (const body of ["", "{", "[]", "null", '"text"', Buffer.from([0xff])]) {
    assertError(await ask(body), "bad_request");
    assertError(await askSigned(reseller, body), "bad_request");
  }
});

test("nothing of a described request is logged or stored, not even under an Idempotency-Key", async () => {
  const request = describe(reseller, {
    method: "POST",
    target: "/v1/domains/hunter2.example/renew",
    body: '{"hunter2":1}',
  });
  await ask(request);
  for (let repeat = 0; repeat < 2; repeat++) {
    const reply = await askSigned(reseller, request, { "idempotency-key": "once" });
    assert.equal((reply.body as Shown).match?.signed, true);
    assert.equal(reply.headers["idempotency-replayed"], undefined);
  }
  const [, signature = "", nonce = ""] = request.headers.authorization.split(":");
  const left = readFileSync(logFile, "utf8") + (await dumpDatabase(gateway.databaseUrl));
  for (const secret of ["hunter2", signature, nonce]) assert.ok(!left.includes(secret), secret);
});

test("the page's command gets the page's answer", {
  skip: spawnSync("curl", ["--version"]).status !== 0 && "curl is not installed",
}, async () => {
  const page = readFileSync(new URL("../../docs/signing.md", import.meta.url), "utf8");
  const section = page.split("## When a signature is refused")[1] ?? "";
  const [command = "", answer = ""] = [...section.matchAll(/^```(?:sh|json)\n(.*?)^```$/gms)].map(
    ([, block = ""]) => block,
  );
  assert.match(command, /^curl .*signature-check/);
  const run = command.replaceAll("https://api.example", gateway.url);
  const { stdout } = await promisify(execFile)("bash", ["-c", run]);
  assert.deepEqual(JSON.parse(stdout), JSON.parse(answer));
});
