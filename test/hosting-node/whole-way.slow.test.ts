/** From a reseller's request to a visitor who reads the page, on ProFTPD and nginx, with all processes of production. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { RawFtp } from "#nodes/proftpd-nginx/test-ftp.ts";
import { startTestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { testDatabase } from "../harness/database.ts";
import { freePorts } from "../harness/free-ports.ts";
import { eventually } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";
import { cannotRun, curl, diskBytesMax, nodeId, password, startWholeWay, type WholeWay } from "./stage.ts";

const options = { skip: cannotRun };
const starting = cannotRun ? undefined : startWholeWay({ after }, testDatabase({ after }));
let way: WholeWay;
before(async () => {
  if (starting === undefined) return;
  way = await starting;
  await way.startAgent();
});

const newPassword = "Another-horse-8-stable";
const homesOf = () => readdir(way.machine.paths.homes);
const uidOf = async (identifier: string) => {
  const sql = "SELECT uid::text FROM hosting_accounts WHERE identifier = $1 AND status <> 'Removed'";
  return (await runSql<{ uid: string }>(way.databaseUrl, sql, [identifier]))[0]?.uid;
};
/** Checks that the node has the account, with the uid and the only folder that the gateway knows. */
async function assertOnce(identifier: string): Promise<string> {
  const uid = (await uidOf(identifier)) ?? assert.fail(`${identifier} has no row`);
  const lines = (await readFile(way.machine.paths.logins, "utf8")).split("\n").map((line) => line.split(":"));
  const found = lines.filter(([user]) => user === identifier).map(([, , of]) => of);
  assert.deepEqual(found, [uid]);
  assert.equal((await homesOf()).filter((home) => home === uid).length, 1);
  return uid;
}

test("an account that is Ready takes an upload by FTPS, and the world reads it", options, async () => {
  await way.createReady("hello.example");
  const { data } = await way.client.getHostingAccount("hello.example");
  assert.equal(data.ftp?.port, way.machine.ftp.port);
  assert.deepEqual(await way.upload("hello.example", "hello, world"), { code: 0, reply: "226 Transfer complete" });
  assert.deepEqual(await way.page("hello.example"), { status: 200, body: "hello, world" });
  await eventually("the account shows what it uses", async () => {
    const { data: now } = await way.client.getHostingAccount("hello.example");
    return now.disk_used_bytes === 12;
  });
  const clear = ["--user", `hello.example:${password}`, `ftp://127.0.0.1:${way.machine.ftp.port}/`];
  assert.equal((await curl(clear)).code, 67, "a login in clear is denied");
});

test("a customer sees the account's own files and nothing else of the machine", options, async () => {
  const base = `ftp://127.0.0.1:${way.machine.ftp.port}`;
  const login = ["--ssl-reqd", "--insecure", "--user", `hello.example:${password}`];
  assert.equal((await curl([...login, "--list-only", `${base}//`])).stdout.trim(), "www");
  assert.equal((await curl([...login, "--list-only", "--path-as-is", `${base}/../../`])).stdout.trim(), "www");
  assert.notEqual((await curl([...login, `${base}//etc/passwd`])).code, 0);
  assert.notEqual((await curl([...login, "--path-as-is", `${base}/../../../etc/passwd`])).code, 0);
});

test("an upload over the pack's quota is refused, and the page before it stays", options, async () => {
  const { code, reply } = await way.upload("hello.example", "x".repeat(diskBytesMax + 1));
  assert.notEqual(code, 0);
  assert.match(reply, /^552 /);
  assert.deepEqual(await way.page("hello.example"), { status: 200, body: "hello, world" });
});

test(
  "abuse 21: an operator's suspension ends a session that is open, until the account is resumed",
  options,
  async () => {
    const session = await RawFtp.login(way.machine, "hello.example", password);
    assert.match(await session.ask("NOOP"), /^200 /);
    await way.operated("hosting", "suspend", "hello.example", "--reason", "unpaid", "--wait");
    await session.closed();
    assert.equal(await session.ask("NOOP"), "");
    assert.match((await way.upload("hello.example", "still here")).reply, /^530 /);
    assert.equal((await way.page("hello.example")).status, 503);
    await way.operated("hosting", "resume", "hello.example", "--wait");
    assert.deepEqual(await way.page("hello.example"), { status: 200, body: "hello, world" });
    assert.equal((await way.upload("hello.example", "back again")).code, 0);
  },
);

test(
  "a reseller's suspension ends a session that is open and closes the site, until they lift it",
  options,
  async () => {
    const session = await RawFtp.login(way.machine, "hello.example", password);
    assert.match(await session.ask("NOOP"), /^200 /);
    await way.client.suspendHostingAccount("hello.example", { reason: "unpaid" });
    assert.equal((await way.client.getHostingAccount("hello.example", { waitSeconds: 30 })).data.status, "Suspended");
    await session.closed();
    assert.match((await way.upload("hello.example", "still here")).reply, /^530 /);
    assert.equal((await way.page("hello.example")).status, 503);
    // Either of the two suspensions is enough.
    await way.operated("hosting", "suspend", "hello.example", "--reason", "phishing", "--wait");
    await way.operated("hosting", "resume", "hello.example", "--wait");
    assert.equal((await way.page("hello.example")).status, 503);
    await way.client.unsuspendHostingAccount("hello.example");
    assert.equal((await way.client.getHostingAccount("hello.example", { waitSeconds: 30 })).data.status, "Ready");
    assert.deepEqual(await way.page("hello.example"), { status: 200, body: "back again" });
    assert.equal((await way.upload("hello.example", "and paid")).code, 0);
  },
);

test("a password that is set over the API opens the account, and the old one does not", options, async () => {
  const session = await RawFtp.login(way.machine, "hello.example", password);
  await way.client.setHostingPassword("hello.example", newPassword);
  await session.closed();
  assert.match((await way.upload("hello.example", "the old one")).reply, /^530 /);
  assert.equal((await way.upload("hello.example", "the new one", newPassword)).code, 0);
  assert.equal((await way.page("hello.example")).body, "the new one");
});

test("abuse 22: a deleted identifier that another reseller gets is another uid and folder", options, async () => {
  const former = await assertOnce("hello.example");
  const session = await RawFtp.login(way.machine, "hello.example", newPassword);
  await way.client.deleteHostingAccount("hello.example");
  await session.closed();
  const rival = await way.addReseller("rival");
  await eventually("the identifier is free", async () => (await uidOf("hello.example")) === undefined);
  assert.equal((await way.page("hello.example")).status, 404);
  assert.ok(!(await homesOf()).includes(former));
  await way.createReady("hello.example", rival);
  assert.notEqual(await assertOnce("hello.example"), former);
  assert.match((await way.upload("hello.example", "mine", newPassword)).reply, /^530 /);
  assert.equal((await way.page("hello.example")).status, 404, "nothing of the former site is left");
  await assert.rejects(way.client.getHostingAccount("hello.example"), {
    errorCode: "hostingaccount_invalid_identifier",
  });
  assert.equal((await way.upload("hello.example", "rival's")).code, 0);
});

test("abuse 6: fifty requests for one identifier at once make one account on the node", options, async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => way.create("race.example")));
  const refused = outcomes.filter((outcome) => outcome.status === "rejected").map(({ reason }) => reason.errorCode);
  assert.deepEqual(refused, Array(49).fill("hosting_already_exist"));
  await way.untilReady("race.example");
  await assertOnce("race.example");
});

test("an account is not Ready until customers can log in at the address that they are shown", options, async (t) => {
  const [free] = await freePorts(1);
  const other = await startTestProftpdNode();
  t.after(() => other.close());
  // Nobody listens at the first address, and a server of somebody else at the second.
  for (const [port, why] of [
    [free, /ECONNREFUSED/],
    [other.ftp.port, /certificate/],
  ] as const) {
    const identifier = `moved-${port}.example`;
    await way.operated("node", "set", nodeId, "--ftp", `127.0.0.1:${port}`);
    await way.create(identifier);
    const notes = async () => {
      const sql = "SELECT note FROM hosting_history JOIN hosting_accounts a ON a.id = account_id WHERE identifier = $1";
      return (await runSql<{ note: string | null }>(way.databaseUrl, sql, [identifier])).map(({ note }) => note ?? "");
    };
    const told = `customers cannot log in at 127.0.0.1:${port}, the node's FTP address`;
    await eventually("the history says why", async () => (await notes()).some((note) => note.startsWith(told)));
    const note = (await notes()).find((text) => text.startsWith(told)) ?? "";
    assert.match(note, why);
    assert.match(note, /correct it with deedhouse node set web-1 --ftp HOST:PORT/);
    assert.equal((await way.client.getHostingAccount(identifier)).data.status, "Provisioning");
    await way.operated("node", "set", nodeId, "--ftp", `127.0.0.1:${way.machine.ftp.port}`);
    await way.untilReady(identifier);
  }
});

test("abuse 24: names of the machine and of the service become no site", options, async () => {
  const before = await homesOf();
  for (const identifier of ["a.localhost", "localhost", "127.0.0.1"]) {
    await assert.rejects(way.create(identifier), { errorCode: "bad_request" });
    assert.notEqual((await way.page(identifier)).status, 200);
  }
  assert.deepEqual(await homesOf(), before);
});

test("abuse 30: no process has logged a password or a hash", options, async () => {
  const folder = async (path: string) =>
    Promise.all((await readdir(path)).map((name) => readFile(join(path, name), "utf8").catch(() => "")));
  const logs = [
    ...(await folder(join(way.system.folder, "data", "logs"))),
    ...(await folder(way.machine.settings.logFolder)),
    way.agentLog(),
    way.system.stdout(),
  ];
  assert.ok(logs.join("").includes("hello.example"), "they have logged what happened");
  for (const log of logs) {
    for (const secret of [password, newPassword]) assert.ok(!log.includes(secret));
    assert.doesNotMatch(log, /\$2[aby]\$\d\d\$/);
  }
});

test("the node and the gateway know the same of each other in the end", options, async () => {
  const compared = await way.operated("node", "reconcile", nodeId);
  assert.deepEqual(compared.findings, []);
});
