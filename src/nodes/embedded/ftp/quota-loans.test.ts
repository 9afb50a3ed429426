import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { type Reply, TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { type TestSite, useFtpStage } from "#nodes/embedded/ftp/test-stage.ts";
import { usageOf } from "#nodes/test-account.ts";

const pollMs = 5;
const diskBytesMax = 1_000_000;

/** An upload that has begun and waits for its bytes. */
interface HeldUpload {
  client: TestFtpClient;
  data: Socket;
}

describe("FTP abuse of the space that an overwritten file lends", () => {
  const stage = useFtpStage();
  const bytesBelow = async (folder: string) => {
    const sizes = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(async (entry) => (await stat(join(entry.parentPath, entry.name)).catch(() => undefined))?.size ?? 0);
    return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  };
  const uploadsFolder = () => join(stage.node.dataDir, "uploads");
  const bytesOnDisk = async (site: TestSite) => (await bytesBelow(site.docroot)) + (await bytesBelow(uploadsFolder()));

  async function hold({ identifier }: TestSite, path: string): Promise<HeldUpload> {
    const client = await TestFtpClient.logIn(stage.port, identifier);
    const data = await client.openData();
    assert.equal((await client.send(`STOR ${path}`)).code, 150);
    return { client, data };
  }

  /** Sends so much; @returns the refusal, or nothing once all of it is on the disk. */
  async function feed({ client, data }: HeldUpload, bytes: number): Promise<Reply | undefined> {
    const wanted = (await bytesBelow(uploadsFolder())) + bytes;
    let refusal: Reply | undefined;
    void client.reply().then((reply) => {
      refusal = reply;
    });
    data.write(Buffer.alloc(bytes));
    while (refusal === undefined && (await bytesBelow(uploadsFolder())) < wanted) await sleep(pollMs);
    return refusal;
  }

  async function end(site: TestSite, uploads: HeldUpload[]): Promise<void> {
    for (const { client } of uploads) client.close();
    while ((await readdir(uploadsFolder())).length > 0) await sleep(pollMs);
    const [files, bytes] = [await readdir(site.docroot), await bytesBelow(site.docroot)];
    assert.deepEqual(await usageOf(stage.node.driver, site.identifier), { bytes, files: files.length });
    site.client.close();
  }

  test("abuse 17: what a file lends to its upload ends when the file is deleted", async () => {
    const site = await stage.make({ diskBytesMax });
    assert.equal((await site.client.store("/www/a.bin", Buffer.alloc(diskBytesMax))).code, 226);
    const upload = await hold(site, "/www/a.bin");
    assert.equal((await site.client.send("DELE /www/a.bin")).code, 250);
    assert.equal((await feed(upload, diskBytesMax + 1))?.code, 552);
    await end(site, [upload]);
  });

  test("abuse 17: a file that is deleted and uploaded again and again lends its space once", async () => {
    const site = await stage.make({ diskBytesMax });
    const uploads: HeldUpload[] = [];
    for (let round = 0; round < 4; round += 1) {
      const reply = await site.client.store("/www/a.bin", Buffer.alloc(diskBytesMax));
      assert.equal(reply.code, 226);
      uploads.push(await hold(site, "/www/a.bin"));
      assert.equal((await site.client.send("DELE /www/a.bin")).code, 250);
    }
    const refusals: unknown[] = [];
    for (const upload of uploads) refusals.push((await feed(upload, 600_000))?.code);
    assert.deepEqual(refusals, [undefined, 552, 552, 552]);
    assert.ok((await bytesOnDisk(site)) <= diskBytesMax);
    await end(site, uploads);
  });

  test("abuse 17: many files that are overwritten and deleted in turn lend no more than one", async () => {
    const site = await stage.make({ diskBytesMax });
    const uploads: HeldUpload[] = [];
    for (const name of ["a", "b", "c", "d"]) {
      assert.equal((await site.client.store(`/www/${name}.bin`, Buffer.alloc(diskBytesMax))).code, 226);
      uploads.push(await hold(site, `/www/${name}.bin`));
      assert.equal((await site.client.send(`DELE /www/${name}.bin`)).code, 250);
    }
    for (const upload of uploads) await feed(upload, 600_000);
    assert.ok((await bytesOnDisk(site)) <= diskBytesMax);
    await end(site, uploads);
  });

  test("abuse 17: what a file lends to its upload ends when a smaller one is renamed over it", async () => {
    const site = await stage.make({ diskBytesMax });
    await site.client.store("/www/small.bin", "small");
    await site.client.store("/www/a.bin", Buffer.alloc(900_000));
    const upload = await hold(site, "/www/a.bin");
    await site.client.send("RNFR /www/small.bin");
    assert.equal((await site.client.send("RNTO /www/a.bin")).code, 250);
    assert.equal((await feed(upload, diskBytesMax + 1))?.code, 552);
    await end(site, [upload]);
  });

  test("abuse 17: what a file lends to its upload ends when the file or its folder gets another name", async () => {
    for (const moved of ["/www/folder/a.bin", "/www/folder"]) {
      const site = await stage.make({ diskBytesMax });
      await site.client.send("MKD /www/folder");
      await site.client.store("/www/folder/a.bin", Buffer.alloc(900_000));
      const upload = await hold(site, "/www/folder/a.bin");
      await site.client.send(`RNFR ${moved}`);
      assert.equal((await site.client.send("RNTO /www/elsewhere")).code, 250);
      assert.equal((await feed(upload, 200_000))?.code, 552, moved);
      upload.client.close();
      site.client.close();
    }
  });

  test("abuse 17: what a file lends to its upload ends when another upload replaces it first", async () => {
    const site = await stage.make({ diskBytesMax });
    await site.client.store("/www/a.bin", Buffer.alloc(900_000));
    const upload = await hold(site, "/www/a.bin");
    assert.equal((await site.client.store("/www/a.bin", "small")).code, 226);
    assert.equal((await feed(upload, diskBytesMax + 1))?.code, 552);
    await end(site, [upload]);
  });

  test("abuse 17: two uploads over one file share what it lends, also when one of them ends", async () => {
    const site = await stage.make({ diskBytesMax });
    await site.client.store("/www/a.bin", Buffer.alloc(diskBytesMax));
    const [first, second] = [await hold(site, "/www/a.bin"), await hold(site, "/www/a.bin")];
    assert.equal(await feed(first, 600_000), undefined);
    assert.equal((await feed(second, 600_000))?.code, 552);
    const third = await hold(site, "/www/a.bin");
    first.client.close();
    while ((await readdir(uploadsFolder())).length > 1) await sleep(pollMs);
    assert.equal(await feed(third, 600_000), undefined);
    await end(site, [second, third]);
  });

  test("abuse 17: what a file lends is lent to no upload to another path", async () => {
    const site = await stage.make({ diskBytesMax });
    await site.client.store("/www/a.bin", Buffer.alloc(900_000));
    const over = await hold(site, "/www/a.bin");
    const beside = await hold(site, "/www/b.bin");
    assert.equal((await feed(beside, 200_000))?.code, 552);
    assert.equal(await feed(over, 900_000), undefined);
    await end(site, [over, beside]);
  });

  test("an upload over a file that is deleted meanwhile takes its room and its place", async () => {
    const site = await stage.make({ diskBytesMax, filesMax: 1 });
    await site.client.store("/www/a.bin", Buffer.alloc(diskBytesMax));
    const upload = await hold(site, "/www/a.bin");
    await site.client.send("DELE /www/a.bin");
    assert.equal(await feed(upload, 900_000), undefined);
    upload.data.end(Buffer.alloc(100_000));
    assert.equal((await site.client.store("/www/b.bin", "")).code, 552);
    while ((await readdir(uploadsFolder())).length > 0) await sleep(pollMs);
    assert.deepEqual(await readdir(site.docroot), ["a.bin"]);
    await end(site, [upload]);
  });
});
