import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { changePack } from "#hosting/accounts/change-pack.ts";
import { type AccountFilter, reportAccounts } from "#hosting/accounts/report.ts";
import { createPack, type NewPack, offerPack, retirePack } from "#hosting/packs/manage.ts";
import { testAccount } from "#nodes/test-account.ts";
import { nodeRoom } from "../harness/profiles.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { eventually, password, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after });
const { gateway, reseller } = stage;
afterEach(() => stage.agentReturns());
const tool = (...args: string[]) => operated(gateway, ...args);
const page = async (identifier: string) =>
  (await readPage({ host: "127.0.0.1", port: stage.web.port }, `${identifier}.localhost`, "/index.html")).status;

async function ready(identifier: string): Promise<number> {
  const id = await stage.create(identifier);
  assert.equal((await stage.settled(identifier)).status, "Ready");
  await upload({ host: "127.0.0.1", port: stage.ftp.port }, identifier, password, "/www/index.html", "open");
  return id;
}

test("an operator suspends an account with a reason that only operators see, and resumes it", async () => {
  await ready("phish.example");
  const suspended = await tool("hosting", "suspend", "Phish.Example", "--reason", "phishing, ticket 4711", "--wait");
  assert.deepEqual(suspended, { identifier: "phish.example", status: "Suspended", changes_pending: false });
  assert.equal(await page("phish.example"), 503);
  const shown = await tool("hosting", "show", "phish.example");
  assert.deepEqual(
    [shown.suspended_reason, shown.next, shown.reseller],
    ["phishing, ticket 4711", "nothing, until the operator resumes it", reseller.name],
  );
  for (const path of ["phish.example", "phish.example/history"]) {
    const { text } = await gateway.send(reseller, "GET", `/hostingaccounts/${path}`);
    assert.doesNotMatch(text, /4711/, path);
  }
  await tool("hosting", "resume", "phish.example", "--wait");
  assert.equal(await page("phish.example"), 200);
  assert.equal((await tool("hosting", "resume", "phish.example")).status, "Ready", "once more changes nothing");
});

test("an operator sees a reseller's own suspension with its reason, and does not lift it", async () => {
  const identifier = "unpaid.example";
  await ready(identifier);
  await stage.ask("PUT", `${identifier}/suspension`, { suspended: true, reason: "invoice 4713 is unpaid" });
  await tool("hosting", "suspend", identifier, "--reason", "phishing", "--wait");
  const resumed = await tool("hosting", "resume", identifier, "--wait");
  const { suspended_by_its_reseller_since: since, ...rest } = resumed;
  assert.deepEqual(rest, { identifier, status: "Suspended", changes_pending: false });
  assert.match(String(since), /Z$/);
  assert.equal(await page(identifier), 503);
  const shown = await tool("hosting", "show", identifier);
  assert.deepEqual(
    [shown.suspended_at, shown.reseller_suspended_at, shown.reseller_suspended_reason, shown.next],
    [null, since, "invoice 4713 is unpaid", "nothing, until its reseller lifts the suspension"],
  );
  const notes = (shown.history as { note: string | null }[]).map(({ note }) => note);
  assert.ok(notes.includes(`by key ${reseller.key.id}: invoice 4713 is unpaid`), notes.join());
});

test("an operator lists all resellers' accounts, and filters them", async () => {
  const other = await gateway.addReseller();
  await stage.create("mine.list.example");
  await stage.create("theirs.list.example", other);
  await stage.settled("mine.list.example");
  await stage.settled("theirs.list.example", other);
  const names = (rows: { identifier: string }[]) =>
    rows.map(({ identifier }) => identifier).filter((identifier) => identifier.endsWith("list.example"));
  const list = async (filter: Partial<AccountFilter>) =>
    names(await reportAccounts(gateway.context, { isPending: false, limit: 100, ...filter }));
  const args = ["hosting", "accounts", "--node", "embedded", "--status", "Ready"];
  assert.deepEqual(names(await operated(gateway, ...args)), ["theirs.list.example", "mine.list.example"]);
  assert.deepEqual(await list({}), ["theirs.list.example", "mine.list.example"]);
  assert.deepEqual(await list({ resellerId: other.id }), ["theirs.list.example"]);
  assert.deepEqual(await list({ status: "Suspended" }), []);
  assert.deepEqual(await list({ nodeId: "another" }), []);
  assert.deepEqual(await list({ isPending: true }), []);
});

test("a deletion by an operator needs a confirmation, and the history stays", async () => {
  await ready("doomed.example");
  await assertRefused(gateway, ["hosting", "remove", "doomed.example"], 2, /--yes/);
  assert.equal(await page("doomed.example"), 200);
  const removed = await tool("hosting", "remove", "doomed.example", "--yes", "--wait");
  assert.equal(removed.status, "Removed");
  const shown = await operated<{ status: string; history: { event: string; note: string }[] }>(
    gateway,
    "hosting",
    "show",
    "doomed.example",
  );
  assert.equal(shown.status, "Removed");
  assert.deepEqual(
    shown.history.slice(-2).map(({ event, note }) => [event, note]),
    [
      ["removal-wanted", "by the operator"],
      ["removed", null],
    ],
  );
  await assertRefused(gateway, ["hosting", "remove", "doomed.example", "--yes"], 4, /no hosting account/);
  await assertRefused(gateway, ["hosting", "show", "never.example"], 4, /there is, and was, no hosting account/);
  await assertRefused(gateway, ["hosting", "show", "not a name"], 2, /./);
});

test("an operator's password is generated, shown once and must meet the same rules", async () => {
  await ready("forgotten.example");
  const set = await operate(gateway, "hosting", "set-password", "forgotten.example", "--generate-password", "--wait");
  assert.equal(set.code, 0, set.stderr);
  const [, made = ""] = /shown only once: (\S+)/.exec(set.stderr) ?? [];
  assert.ok(!set.stdout.includes(made));
  await upload({ host: "127.0.0.1", port: stage.ftp.port }, "forgotten.example", made, "/www/index.html", "open");
});

test("an account that waits shows the reason, the next attempt and what it does", async () => {
  const id = await ready("waiting.example");
  await stage.agentLeaves();
  await tool("hosting", "suspend", "waiting.example", "--reason", "unpaid");
  const late = ["hosting", "suspend", "waiting.example", "--reason", "unpaid", "--wait", "--timeout", "1"];
  await assertRefused(gateway, late, 7, /not in effect yet/);
  await eventually("it was attempted", async () => (await stage.inside(id)).next_step_at !== null);
  const shown = await tool("hosting", "show", "waiting.example");
  await stage.agentReturns();
  const time = /^at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z: it is suspended \(retry: the agent of the node embedded/;
  assert.match(String(shown.next), time);
  const { body } = await gateway.send(reseller, "GET", "/hostingaccounts/waiting.example/history");
  const { next, history } = body as { next: string; history: { event: string; text: string }[] };
  assert.match(next, /it is suspended \(retry: its server has not applied it yet\)$|^nothing/);
  assert.ok(history.some(({ text }) => text === "the operator requested its suspension"));
  assert.doesNotMatch(JSON.stringify(body), /the agent|unpaid|embedded/);
});

test("the revision of a pack changes no existing account, and new ones get the next version", async () => {
  const { id } = await tool("packs", "create", "Growing", "--disk-mb", "1", "--files", "10", "--traffic-mb", "5");
  const packId = String(id);
  const create = async (identifier: string) => {
    const body = { servicepack_id: packId, identifier, password };
    assert.equal((await gateway.send(reseller, "POST", "/hostingaccounts", { body })).status, 202);
    return (await stage.settled(identifier)) as unknown as Record<string, unknown>;
  };
  const limits = ({
    servicepack_version,
    disk_quota_bytes,
    files_max,
    traffic_bytes_month,
  }: Record<string, unknown>) => ({
    servicepack_version,
    disk_quota_bytes,
    files_max,
    traffic_bytes_month,
  });
  const first = { servicepack_version: 1, disk_quota_bytes: 1_000_000, files_max: 10, traffic_bytes_month: 5_000_000 };
  const second = { ...first, servicepack_version: 2, disk_quota_bytes: 2_000_000 };
  assert.deepEqual(limits(await create("old.pack.example")), first);
  assert.deepEqual(await tool("packs", "revise", packId, "--disk-mb", "2"), { id: packId, version: 2 });
  assert.deepEqual(limits(await create("new.pack.example")), second);
  const read = async () => limits((await stage.read("old.pack.example")) as unknown as Record<string, unknown>);
  assert.deepEqual(await read(), first);

  const { body } = await gateway.send(reseller, "GET", "/servicepacks");
  const shown = (body as Record<string, unknown>[]).filter((pack) => pack.id === packId);
  assert.deepEqual(
    shown.map(({ version, disk_quota_bytes, features }) => [version, disk_quota_bytes, features]),
    [[2, 2_000_000, ["ftp"]]],
  );
  await tool("hosting", "pack", "old.pack.example", packId, "--wait");
  assert.deepEqual(await read(), second);
  assert.equal((await stage.node.driver.find("old.pack.example"))?.diskBytesMax, 2_000_000);

  await offerPack(gateway.context, Number(packId), [(await gateway.addReseller()).id]);
  const offered = (await gateway.send(reseller, "GET", "/servicepacks")).body as Record<string, unknown>[];
  assert.ok(!offered.some((pack) => pack.id === packId));
  await retirePack(gateway.context, Number(packId));
  const versions = await operated<Record<string, unknown>[]>(gateway, "packs", "versions", "--all");
  const ours = versions.filter((pack) => String(pack.id) === packId);
  assert.deepEqual(
    ours.map(({ version, status, accounts }) => [version, status, accounts]),
    [
      [1, "retired", 0],
      [2, "retired", 2],
    ],
  );
  await assertRefused(gateway, ["packs", "revise", packId, "--disk-mb", "3"], 4, /no service pack .* is on offer/);
});

test("an account gets no pack that is too small for its usage, or too large for its node or owner", async () => {
  const identifier = "full.example";
  await ready(identifier);
  await upload({ host: "127.0.0.1", port: stage.ftp.port }, identifier, password, "/www/second.html", "open");
  await eventually("its files are counted", async () => (await stage.read(identifier)).files_used === 2);
  const { context } = gateway;
  const terms = { name: "Other", diskBytesMax: 1_000_000, filesMax: 100, ftpSessionsMax: 4 };
  const change = async (pack: Partial<NewPack>) =>
    changePack(context, identifier, Number(await createPack(context, { ...terms, ...pack })));
  await assert.rejects(change({ filesMax: 1 }), /2 files and folders, and the pack allows 1/);
  await assert.rejects(change({ diskBytesMax: 1 }), /bytes, and the pack allows 1/);
  await assert.rejects(change({ diskBytesMax: 10 ** 15 }), /exceed their disk limit/);
  await assert.rejects(change({ nodeTags: ["nvme"] }), /its node embedded does not have nvme: move/);
  const room = (bytes: string) => runSql(gateway.databaseUrl, `UPDATE hosting_nodes SET capacity_bytes = ${bytes}`);
  await room("committed_bytes");
  await assert.rejects(change({}), /its node embedded has no room for 900000 more bytes: move/);
  await room(String(nodeRoom.capacityBytes));
  assert.equal((await stage.read(identifier)).changes_pending, false, "what is refused changes nothing");
  const committed = async () => {
    const sql = "SELECT committed_bytes::int8 AS bytes FROM hosting_nodes";
    return Number((await runSql<{ bytes: string }>(gateway.databaseUrl, sql))[0]?.bytes);
  };
  const before = await committed();
  await change({});
  assert.equal((await committed()) - before, 900_000);
});

test("the files of an account whose pack has no FTP are served, and nobody can log in", async () => {
  const terms = { name: "Static", diskBytesMax: 1_000_000, filesMax: 100, ftpSessionsMax: 4 };
  const pack = await createPack(gateway.context, { ...terms, features: [] });
  const body = { servicepack_id: pack, identifier: "static.example", password };
  assert.equal((await gateway.send(reseller, "POST", "/hostingaccounts", { body })).status, 202);
  assert.equal((await stage.settled("static.example")).status, "Ready");
  await assert.rejects(
    upload({ host: "127.0.0.1", port: stage.ftp.port }, "static.example", password, "/www/a.html", "open"),
    /530/,
  );
});

test("the alarm of an account that was given up stays until it is deleted", async () => {
  await stage.node.driver.ensureAccount(testAccount("taken.example", 1));
  await stage.create("taken.example");
  assert.equal((await stage.settled("taken.example")).status, "Failed");
  const alarms = async () => {
    const open = await listAlarms(gateway.context, { all: false, limit: 100 });
    return open.filter(({ kind, subject }) => kind === "hosting" && subject === "taken.example").length;
  };
  assert.equal(await alarms(), 1);
  await stage.ask("DELETE", "taken.example");
  assert.equal(await alarms(), 0);
});
