import assert from "node:assert/strict";
import { after, test } from "node:test";
import { changePack } from "#hosting/accounts/change-pack.ts";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { checkHostName } from "#hosting/host-names/check.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type Account, eventually, password, startHostingStage } from "./stage.ts";

/** No worker runs here: a test runs an account's step when it needs to. */
const stage = await startHostingStage({ after }, { worker: false });
const { gateway, node, reseller } = stage;
const { context } = gateway;

interface Shown extends Account {
  suspensions?: { by: string; since: string; reason?: string }[];
}

async function ready(identifier: string): Promise<number> {
  const id = await stage.ready(identifier);
  await put(identifier);
  return id;
}
const put = (identifier: string, secret = password) =>
  upload({ host: "127.0.0.1", port: stage.ftp.port }, identifier, secret, "/www/index.html", "open");
const page = (identifier: string, host = `${identifier}.localhost`) =>
  readPage({ host: "127.0.0.1", port: stage.web.port }, host, "/index.html");
const send = (identifier: string, body: object, as = reseller) =>
  gateway.send(as, "PUT", `/hostingaccounts/${identifier}/suspension`, { body });
const suspend = (identifier: string, reason?: string) =>
  stage.ask("PUT", `${identifier}/suspension`, { suspended: true, ...(reason !== undefined && { reason }) });
const lift = (identifier: string) => stage.ask("PUT", `${identifier}/suspension`, { suspended: false });
const read = async (identifier: string) => (await stage.read(identifier)) as Shown;
const holders = async (identifier: string) => ((await read(identifier)).suspensions ?? []).map(({ by }) => by);
const nextOf = async (identifier: string) => {
  const { body } = await gateway.send(reseller, "GET", `/hostingaccounts/${identifier}/history`);
  return (body as { next: string }).next;
};

async function assertOff(identifier: string): Promise<void> {
  assert.equal((await read(identifier)).status, "Suspended");
  await assert.rejects(put(identifier), /530/);
  assert.equal((await page(identifier)).status, 503);
}
async function assertOn(identifier: string): Promise<void> {
  assert.equal((await read(identifier)).status, "Ready");
  assert.deepEqual(await page(identifier), { status: 200, body: "open" });
  await put(identifier);
}

test("a reseller suspends an account: nobody can log in and the site answers 503, until they lift it", async () => {
  const identifier = "unpaid.example";
  const id = await ready(identifier);
  const session = await TestFtpClient.logIn(stage.ftp.port, identifier, password);

  await suspend(identifier, "invoice 4711 is unpaid");
  const wanted = await read(identifier);
  assert.deepEqual([wanted.status, wanted.changes_pending], ["Ready", true], "it is said once it is so");
  await stage.advance(id);
  assert.notEqual((await session.send("NOOP")).code, 200, "open sessions end");
  await assertOff(identifier);
  const { suspensions, changes_pending } = await read(identifier);
  assert.equal(changes_pending, false);
  assert.deepEqual(suspensions, [{ by: "reseller", since: suspensions?.[0]?.since, reason: "invoice 4711 is unpaid" }]);
  assert.equal(await nextOf(identifier), "nothing, until its reseller lifts the suspension");

  await lift(identifier);
  await stage.advance(id);
  await assertOn(identifier);
  assert.equal((await read(identifier)).suspensions, undefined);
  const wantedAndDone = ["reseller-suspend-wanted", "suspended", "reseller-resume-wanted", "resumed"];
  assert.deepEqual((await stage.story(id)).slice(3), wantedAndDone);
});

test("an account that both have suspended is served only when both have lifted it, in either order", async () => {
  for (const [identifier, isResellerFirst] of [
    ["both.example", true],
    ["both-2.example", false],
  ] as const) {
    const id = await ready(identifier);
    const steps = [() => suspend(identifier, "unpaid"), () => suspendAccount(context, identifier, "phishing")];
    for (const step of isResellerFirst ? steps : steps.toReversed()) {
      await step();
      await stage.advance(id);
      await assertOff(identifier);
    }
    assert.deepEqual(await holders(identifier), ["reseller", "operator"]);
    assert.equal(
      await nextOf(identifier),
      "nothing, until its reseller lifts the suspension, and the operator resumes it",
    );
    const lifts = [() => lift(identifier), () => resumeAccount(context, identifier)] as const;
    const [first, second] = isResellerFirst ? lifts : lifts.toReversed();
    await first!();
    await stage.advance(id);
    await assertOff(identifier);
    assert.deepEqual(await holders(identifier), [isResellerFirst ? "operator" : "reseller"]);
    await second!();
    await stage.advance(id);
    await assertOn(identifier);
  }
});

test("only the operator lifts the operator's suspension, and the error says to ask them", async () => {
  const identifier = "blocked.example";
  const id = await ready(identifier);
  await suspendAccount(context, identifier, "phishing, ticket 4712");
  await stage.advance(id);
  const refused = assertError(await send(identifier, { suspended: false }), "hostingaccount_suspended_by_operator");
  assert.match(refused.error_text, /only the operator can resume it: ask them/);
  await stage.advance(id);
  await assertOff(identifier);
  const { text } = await gateway.send(reseller, "GET", `/hostingaccounts/${identifier}`);
  assert.doesNotMatch(text, /4712/, "the operator's reason is for operators");
  await resumeAccount(context, identifier);
  await stage.advance(id);
  await assertOn(identifier);
});

test("an operator who resumes an account changes nothing of a suspension that is the reseller's alone", async () => {
  const identifier = "theirs.example";
  const id = await ready(identifier);
  await suspend(identifier);
  await stage.advance(id);
  const { wanted_version } = await stage.inside(id);
  await resumeAccount(context, identifier);
  await stage.advance(id);
  await assertOff(identifier);
  assert.equal((await stage.inside(id)).wanted_version, wanted_version);
});

test("a repeated suspension changes nothing, and another reason replaces the first and keeps the time", async () => {
  const identifier = "again.example";
  const id = await ready(identifier);
  for (const _ of [1, 2]) await suspend(identifier, "unpaid");
  const { wanted_version } = await stage.inside(id);
  const [before] = (await read(identifier)).suspensions!;
  assert.equal((await stage.story(id)).filter((event) => event === "reseller-suspend-wanted").length, 1);
  await suspend(identifier, "unpaid, reminder 2");
  assert.deepEqual((await read(identifier)).suspensions, [{ ...before, reason: "unpaid, reminder 2" }]);
  await suspend(identifier, "  ");
  assert.deepEqual((await read(identifier)).suspensions, [{ by: "reseller", since: before!.since }]);
  assert.equal((await stage.inside(id)).wanted_version, wanted_version + 2);
  for (const _ of [1, 2]) await lift(identifier);
  assert.equal((await stage.inside(id)).wanted_version, wanted_version + 3);
  await stage.advance(id);
  await assertOn(identifier);
});

test("an account that is being created is suspended once it is Ready, and an answer says so", async () => {
  const identifier = "early.example";
  const id = await stage.create(identifier);
  await lift(identifier);
  const refused = assertError(await send(identifier, { suspended: true }), "hostingaccount_not_changeable");
  assert.match(refused.error_text, /Suspend it once it is Ready/);
  await stage.advance(id);
  await suspend(identifier);
  await stage.advance(id);
  assert.equal((await read(identifier)).status, "Suspended");
});

test("what is changed while an account is suspended is in effect when it is served again", async () => {
  const identifier = "busy.example";
  const other = "Another-horse-8-stable";
  const host = `www.${identifier}`;
  const id = await ready(identifier);
  await insertDomains(gateway.databaseUrl, reseller, [identifier]);
  await suspend(identifier, "unpaid");
  await stage.advance(id);
  await stage.ask("PUT", `${identifier}/password`, { password: other });
  const ftp = `/v2/linuxhostings/${identifier}/ftp/configuration`;
  for (const enabled of [false, true]) {
    assert.equal((await gateway.send(reseller, "PUT", ftp, { body: { enabled } })).status, 204);
  }
  const pack = await gateway.addPack({ diskBytesMax: 200_000 });
  await changePack(context, identifier, Number(pack));
  await stage.ask("PUT", `${identifier}/hosts/${host}`);
  const [{ id: hostId } = assert.fail()] = await runSql<{ id: string }>(
    gateway.databaseUrl,
    "SELECT id FROM host_names WHERE host_name = $1",
    [host],
  );
  await checkHostName(context, Number(hostId));
  await stage.advance(id);
  await assertOff(identifier);
  await lift(identifier);
  await stage.advance(id);
  const { status, disk_quota_bytes } = await read(identifier);
  assert.deepEqual([status, disk_quota_bytes], ["Ready", 200_000]);
  for (const name of [undefined, host]) {
    assert.deepEqual(await page(identifier, name), { status: 200, body: "open" }, "no file is lost");
  }
  await assert.rejects(put(identifier), /530/);
  await put(identifier, other);
});

test("a suspended account can be deleted", async () => {
  const identifier = "ended.example";
  const id = await ready(identifier);
  await suspend(identifier);
  await stage.advance(id);
  await stage.ask("DELETE", identifier);
  assertError(await send(identifier, { suspended: false }), "hostingaccount_not_changeable");
  await stage.advance(id);
  assert.equal((await gateway.send(reseller, "GET", `/hostingaccounts/${identifier}`)).status, 403);
  assert.equal(await node.driver.find(identifier), undefined);
});

test("Prefer: wait holds a read of the account until the suspension is in effect, or its end", async () => {
  const identifier = "awaited.example";
  const id = await ready(identifier);
  const held = () =>
    gateway.send(reseller, "GET", `/hostingaccounts/${identifier}`, { headers: { prefer: "wait=30" } });
  for (const [change, status] of [
    [suspend, "Suspended"],
    [lift, "Ready"],
  ] as const) {
    await change(identifier);
    const answer = held();
    await stage.advance(id);
    const { body, headers } = await answer;
    assert.equal(headers["preference-applied"], "wait=30");
    assert.deepEqual([(body as Shown).status, (body as Shown).changes_pending], [status, false]);
  }
});

test("a suspension and its end are events that the reseller reads", async () => {
  const identifier = "told.example";
  const id = await ready(identifier);
  for (const change of [suspend, lift]) {
    await change(identifier);
    await stage.advance(id);
  }
  const reported = await eventually("both are reported", async () => {
    const { body } = await gateway.send(reseller, "GET", "/events?types=hosting.*&take=100");
    const events = body as { type: string; data: { identifier: string; status: string } }[];
    const own = events.filter(({ data }) => data.identifier === identifier);
    return own.some(({ type }) => type === "hosting.resumed") && own;
  });
  assert.deepEqual(
    reported.map(({ type, data }) => [type, data.status]),
    [
      ["hosting.ready", "Ready"],
      ["hosting.suspended", "Suspended"],
      ["hosting.resumed", "Ready"],
    ],
  );
});

test("a reseller's key needs hosting:update to suspend an account", async () => {
  const identifier = "scoped.example";
  await ready(identifier);
  const reader = await gateway.addKey(reseller, { scopes: ["hosting:read"] });
  assert.equal((await send(identifier, { suspended: true }, reader)).status, 403);
  assert.deepEqual(await holders(identifier), []);
});
