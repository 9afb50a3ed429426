import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, afterEach, test } from "node:test";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { endMove } from "#hosting/moves/manage.ts";
import { testAccount, usageOf } from "#nodes/test-account.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { readPage, upload } from "../harness/site.ts";
import { assertRoomIsKept, filesOf, ftpOf, pageOf, startMoveStage } from "./move-stage.ts";
import { eventually, password } from "./stage.ts";

const stage = await startMoveStage({ after });
const { gateway, node: first, second } = stage;
const { context, databaseUrl } = gateway;

afterEach(async () => {
  stage.ftp.join();
  await assertRoomIsKept(databaseUrl);
});

test("a moved account has all its files, its password and its new address; the old site stays for the grace time", async () => {
  const identifier = "moves.example";
  const id = await stage.createOnFirst(identifier);
  const { uid } = await stage.inside(id);
  const www = join(first.dataDir, "homes", String(uid), "www");
  const contents: Record<string, string | Buffer> = {
    "with space/ü ñ 漢字.txt": "utf-8",
    " leading and trailing .txt": "blank",
    ".well-known/x": "dot",
    "big.bin": Buffer.alloc(2_000_000, "0123456789abcdef!"),
    "empty.txt": "",
  };
  for (let n = 0; n < 30; n++) contents[`many/${n}.txt`] = String(n);
  for (const [name, content] of Object.entries(contents)) {
    await mkdir(dirname(join(www, name)), { recursive: true });
    await writeFile(join(www, name), content);
  }
  await mkdir(join(www, "empty folder", "nested"), { recursive: true });

  const moveId = await stage.move(identifier, "second");
  const { files_done, files_total } = await stage.comes(moveId, "Leaving");
  assert.deepEqual([files_done, files_total], [36, 36]);
  const moved = await stage.inside(id);
  assert.notEqual(moved.uid, uid);
  assert.deepEqual(await filesOf(second, moved.uid), await filesOf(first, uid));
  const shown = await stage.read(identifier);
  assert.deepEqual([shown.status, shown.ftp.port], ["Ready", second.ports.ftpPort]);
  // A report of what it uses may contain the file of a probe; the next one does not.
  await eventually("what it uses is shown", async () => {
    return (await stage.read(identifier)).disk_used_bytes === (await usageOf(second.driver, identifier)).bytes;
  });

  await upload(ftpOf(second), identifier, password, "/www/new.txt", "new");
  assert.equal((await pageOf(second, identifier, "/new.txt")).body, "new");
  assert.equal((await pageOf(first, identifier)).body, identifier);
  await assert.rejects(upload(ftpOf(first), identifier, password, "/www/late.txt", "late"), /530/);

  await endMove(context, identifier, "finish");
  await stage.comes(moveId, "Moved");
  assert.equal(await first.driver.find(identifier), undefined);
  assert.equal((await pageOf(second, identifier, "/new.txt")).body, "new");
});

test("an account can be moved back to a node that it was on", async () => {
  const identifier = "returns.example";
  const id = await stage.createOnFirst(identifier);
  await stage.comes(await stage.move(identifier, "second", 0), "Moved");
  await stage.comes(await stage.move(identifier, "embedded", 0), "Moved");
  assert.equal((await pageOf(first, identifier)).body, identifier);
  assert.equal(await second.driver.find(identifier), undefined);
  assert.equal((await first.driver.find(identifier))?.uid, (await stage.inside(id)).uid);
  await upload(ftpOf(first), identifier, password, "/www/new.txt", "new");
});

test("a suspended account stays suspended on both nodes", async () => {
  const identifier = "suspended.move.example";
  const id = await stage.createOnFirst(identifier);
  await suspendAccount(context, identifier, "phishing");
  await eventually("it is suspended", async () => (await stage.read(identifier)).status === "Suspended");
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
  for (const node of [first, second]) assert.equal((await pageOf(node, identifier)).status, 503);
  await assert.rejects(upload(ftpOf(second), identifier, password, "/www/x.txt", "x"), /530/);
  assert.equal((await stage.read(identifier)).status, "Suspended");
  assert.equal((await filesOf(second, (await stage.inside(id)).uid)).length, 1);
});

test("a password that is changed during the copying works on the new node", async () => {
  const identifier = "password.move.example";
  await stage.createOnFirst(identifier);
  stage.ftp.cut();
  const moveId = await stage.move(identifier, "second");
  await eventually("the copy was attempted", async () => (await stage.comes(moveId, "Copying")).note !== null);
  const next = "Another-horse-7-battery";
  await stage.ask("PUT", `${identifier}/password`, { password: next });
  stage.ftp.join();
  await stage.comes(moveId, "Leaving");
  await eventually("the new password opens it", () =>
    upload(ftpOf(second), identifier, next, "/www/x.txt", "x").then(
      () => true,
      () => false,
    ),
  );
  await assert.rejects(upload(ftpOf(second), identifier, password, "/www/x.txt", "x"), /530/);
});

test("an account that is suspended in the grace time is not served by its old node either", async () => {
  const identifier = "grace.move.example";
  await stage.createOnFirst(identifier);
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
  await suspendAccount(context, identifier, "phishing");
  for (const node of [second, first]) {
    await eventually("both answer 503", async () => (await pageOf(node, identifier)).status === 503);
  }
  await resumeAccount(context, identifier);
  await eventually("both serve it again", async () => (await pageOf(first, identifier)).body === identifier);
});

test("an account that its reseller suspends in the grace time is not served by its old node either", async () => {
  const identifier = "unpaid.move.example";
  await stage.createOnFirst(identifier);
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
  await stage.ask("PUT", `${identifier}/suspension`, { suspended: true });
  for (const node of [second, first]) {
    await eventually("both answer 503", async () => (await pageOf(node, identifier)).status === 503);
  }
  await stage.ask("PUT", `${identifier}/suspension`, { suspended: false });
  for (const node of [second, first]) {
    await eventually("both serve it again", async () => (await pageOf(node, identifier)).body === identifier);
  }
});

test("an account that its reseller has suspended stays suspended on both nodes of a move", async () => {
  const identifier = "unpaid-first.move.example";
  await stage.createOnFirst(identifier);
  await stage.ask("PUT", `${identifier}/suspension`, { suspended: true });
  await eventually("it is suspended", async () => (await stage.read(identifier)).status === "Suspended");
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
  for (const node of [first, second]) assert.equal((await pageOf(node, identifier)).status, 503);
  await stage.ask("PUT", `${identifier}/suspension`, { suspended: false });
  await eventually("the new node serves it", async () => (await pageOf(second, identifier)).body === identifier);
  await upload(ftpOf(second), identifier, password, "/www/x.txt", "x");
});

test("a host name that is removed in the grace time is served on neither node", async () => {
  const identifier = "names.move.example";
  const host = "www.names.move.example";
  await stage.createOnFirst(identifier);
  await insertDomains(databaseUrl, stage.reseller, [identifier]);
  await stage.ask("PUT", `${identifier}/hosts/${host}`);
  const answers = (status: number) =>
    eventually(`both nodes answer ${status}`, async () => {
      const pages = [first, second].map(({ ports }) =>
        readPage({ host: "127.0.0.1", port: ports.webPort }, host, "/index.html"),
      );
      return (await Promise.all(pages)).every((page) => page.status === status);
    });
  const moveId = await stage.move(identifier, "second");
  await stage.comes(moveId, "Leaving");
  await answers(200);
  await stage.ask("DELETE", `${identifier}/hosts/${host}`);
  await answers(404);
});

for (const when of ["while its files are copied", "in the grace time"]) {
  test(`an account that is deleted ${when} is removed from both nodes before its identifier is free`, async () => {
    const identifier = `deleted-${when.length}.move.example`;
    await stage.createOnFirst(identifier);
    if (when.includes("copied")) stage.ftp.cut();
    const moveId = await stage.move(identifier, "second");
    if (when.includes("copied"))
      await eventually("it is attempted", async () => (await stage.comes(moveId, "Copying")).note !== null);
    else await stage.comes(moveId, "Leaving");
    await stage.ask("DELETE", identifier);
    await eventually("it is gone", async () => {
      const reply = await gateway.send(stage.reseller, "GET", `/v1/hostingaccounts/${identifier}`);
      return reply.status === 403;
    });
    for (const node of [first, second]) assert.equal(await node.driver.find(identifier), undefined);
    stage.ftp.join();
    await stage.create(identifier);
    assert.equal((await stage.settled(identifier)).status, "Ready");
  });
}

test("a move that fails leaves the account as it was, and says why", async () => {
  const identifier = "fails.move.example";
  await stage.createOnFirst(identifier);
  await second.driver.ensureAccount(testAccount(identifier, 7));
  const moveId = await stage.move(identifier, "second");
  const { reason } = await stage.comes(moveId, "Returned");
  assert.match(reason ?? "", /identifier_taken/);
  await second.driver.remove({ identifier, uid: 7 });
  assert.deepEqual(
    (await second.driver.list()).filter((found) => found.identifier === identifier),
    [],
  );
  await eventually("FTP is open", () =>
    upload(ftpOf(first), identifier, password, "/www/x.txt", "x").then(
      () => true,
      () => false,
    ),
  );
  assert.equal((await stage.read(identifier)).ftp.port, stage.ftp.port);
});

test("a move that is cancelled leaves nothing on the other node", async () => {
  const identifier = "cancelled.move.example";
  await stage.createOnFirst(identifier);
  stage.ftp.cut();
  const moveId = await stage.move(identifier, "second");
  await eventually("the copy was attempted", async () => (await stage.comes(moveId, "Copying")).note !== null);
  await assert.rejects(stage.move(identifier, "second"), /is being moved/);
  await endMove(context, identifier, "cancel");
  assert.equal((await stage.comes(moveId, "Returned")).to_node, "second");
  assert.equal(await second.driver.find(identifier), undefined);
  stage.ftp.join();
  await stage.comes(await stage.move(identifier, "second"), "Leaving");
});
