import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { type Client, FTPError } from "basic-ftp";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { getPage } from "#nodes/test-page.ts";
import { type Account, eventually, password, startHostingStage } from "./stage.ts";

const run = promisify(execFile);
const hasCurl = spawnSync("curl", ["--version"]).error === undefined;
const quotaBytes = 10_000;

const stage = await startHostingStage({ after }, { diskBytesMax: quotaBytes });
await stage.create("shop.example");
const account = await stage.settled("shop.example");

/** Logs in at the address in the API's answer, as a customer does. */
async function withFtp<Result>(
  work: (client: Client) => Promise<Result>,
  { user = account.ftp.username, secret = password } = {},
): Promise<Result> {
  const client = await logInFtp(account.ftp, user, secret, { rejectUnauthorized: false });
  try {
    return await work(client);
  } finally {
    client.close();
  }
}
const upload = (content: string, path: string) =>
  withFtp((client) => client.uploadFrom(Readable.from([content]), path));
const page = (path: string, host = "shop.example.localhost") => getPage(stage.web.port, path, { host });
const refusesWith = (code: number) => (error: unknown) => error instanceof FTPError && error.code === code;

test("the API shows a ready account with all that its owner needs", () => {
  assert.equal(account.status, "Ready");
  assert.equal(account.ftp.username, "shop.example");
  assert.equal(account.web.url, `http://shop.example.localhost:${stage.web.port}/`);
  assert.equal(account.disk_quota_bytes, quotaBytes);
  assert.equal(account.error_text, undefined);
});

test("a ready account is in its owner's list", async () => {
  const { body } = await stage.gateway.send(stage.reseller, "GET", "/v1/hostingaccounts");
  assert.deepEqual(
    (body as Account[]).map(({ identifier, status }) => [identifier, status]),
    [["shop.example", "Ready"]],
  );
});

test("only the customer's password opens a ready account", async () => {
  await withFtp(async (client) => assert.equal(await client.pwd(), "/"));
  await assert.rejects(
    withFtp(async () => {}, { secret: `${password}x` }),
    refusesWith(530),
  );
});

test("a ready account serves uploads at the platform's name and at the bare identifier, and nowhere else", async () => {
  await upload("<h1>Open</h1>", "/www/index.html");
  for (const host of ["shop.example.localhost", `shop.example:${stage.web.port}`, "SHOP.example."]) {
    const { status, body } = await page("/", host);
    assert.deepEqual([status, body], [200, "<h1>Open</h1>"], host);
  }
  assert.equal((await page("/", "other.example")).status, 404);
});

test("a ready account accepts uploads from curl over TLS", { skip: !hasCurl && "curl is not installed" }, async () => {
  const { ftp, web } = account;
  const url = `ftp://${ftp.host}:${ftp.port}/www/notes/by-curl.txt`;
  const login = ["--user", `${ftp.username}:${password}`, "--ssl-reqd", "--insecure"];
  const sending = run("curl", ["-sS", ...login, "--ftp-create-dirs", "-T", "-", url]);
  sending.child.stdin?.end("sent by curl");
  await sending;
  assert.equal((await run("curl", ["-sS", `${web.url}notes/by-curl.txt`])).stdout, "sent by curl");
});

test("a ready account refuses uploads over the pack's quota with 552, and keeps the old file", async () => {
  const old = "a".repeat(quotaBytes / 2);
  await upload(old, "/www/page.txt");
  await assert.rejects(upload("b".repeat(quotaBytes + 1), "/www/page.txt"), refusesWith(552));
  assert.equal((await page("/page.txt")).body, old);
  await assert.rejects(upload("c".repeat(quotaBytes), "/www/second.txt"), refusesWith(552));
  assert.equal((await page("/second.txt")).status, 404);
});

test("a ready account is confined to its folder", async () => {
  await stage.create("neighbour.example");
  await stage.settled("neighbour.example");
  await withFtp(async (client) => {
    await client.cd("../../..").catch(() => {});
    assert.equal(await client.pwd(), "/");
    const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
    for (const path of ["/etc/passwd", "../../../../etc/passwd", `${stage.node.dataDir}/ftp-tls.pem`]) {
      await assert.rejects(client.downloadTo(nowhere, path), refusesWith(550), path);
    }
    const names = (await client.list("/")).map(({ name }) => name);
    assert.deepEqual(names, ["www"]);
  });
  for (const path of ["/../../accounts/", "/%2e%2e/%2e%2e/ftp-tls.pem"]) {
    assert.ok((await page(path)).status >= 400, path);
  }
});

test("a ready account shows within seconds how much disk it uses", async () => {
  const user = "usage.example";
  await stage.create(user);
  await stage.settled(user);
  const sees = (bytes: number) => async () => (await stage.read(user)).disk_used_bytes === bytes;
  await withFtp(
    async (client) => {
      for (const bytes of [700, 300, 0]) {
        await client.uploadFrom(Readable.from([Buffer.alloc(bytes)]), "/www/data.bin");
        await eventually(`the account uses ${bytes} bytes`, sees(bytes));
      }
    },
    { user },
  );
});

test("a ready account's usage is updated after a worker was down", async () => {
  const user = "restart.example";
  await stage.create(user);
  await stage.settled(user);
  // The probe's file was counted too, and is gone.
  await eventually("nothing is used", async () => (await stage.read(user)).disk_used_bytes === 0);
  await stage.gateway.stopWorker();
  await withFtp((client) => client.uploadFrom(Readable.from([Buffer.alloc(321)]), "/www/data.bin"), { user });
  assert.equal((await stage.read(user)).disk_used_bytes, 0);
  await stage.gateway.startWorker();
  await eventually("its usage is updated", async () => (await stage.read(user)).disk_used_bytes === 321);
});
