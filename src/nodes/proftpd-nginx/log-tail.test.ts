import assert from "node:assert/strict";
import { appendFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { LogTail } from "#nodes/proftpd-nginx/log-tail.ts";
import { TrafficCount } from "#nodes/proftpd-nginx/traffic.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-log-"));
after(() => rm(folder, { recursive: true }));

const linesOf = async (tail: LogTail) => {
  const lines: string[] = [];
  await tail.read((line) => lines.push(line));
  return lines;
};

test("every line is read once, across rotations and starts", async () => {
  const path = join(folder, "a.log");
  let tail = new LogTail(path, {});
  assert.deepEqual(await linesOf(tail), []);
  await writeFile(path, "1\n2\nhal");
  assert.deepEqual(await linesOf(tail), ["1", "2"]);
  await appendFile(path, "f\n");
  await rename(path, `${path}.1`);
  await writeFile(path, "3\n");
  // The server has not opened the new file yet.
  await appendFile(`${path}.1`, "late\n");
  tail = new LogTail(path, tail.state);
  assert.deepEqual(await linesOf(tail), ["half", "late", "3"]);
  assert.deepEqual(await linesOf(tail), []);
});

test("a log that is emptied, or takes the place of a removed one, is read from its beginning", async () => {
  const path = join(folder, "b.log");
  const tail = new LogTail(path, {});
  await writeFile(path, "1\n2\n");
  assert.deepEqual(await linesOf(tail), ["1", "2"]);
  await writeFile(path, "3\n");
  assert.deepEqual(await linesOf(tail), ["3"]);
  await rm(path);
  await writeFile(path, "4\n5\n6\n");
  assert.deepEqual(await linesOf(tail), ["4", "5", "6"]);
});

test("a site's traffic is summed per month; a stop before the sums are kept counts nothing twice", async () => {
  const log = join(folder, "traffic.log");
  const changed: number[] = [];
  const open = () =>
    TrafficCount.open({
      isAccount: (uid) => uid === 200_001,
      log,
      file: join(folder, "traffic.json"),
      homes: "/srv/homes",
      logBytesMax: 1_000_000,
      onChange: (uid) => changed.push(uid),
      reopenLogs: () => {},
    });
  const november = Date.UTC(2026, 10, 30, 23, 59, 59) / 1_000;
  const december = november + 1;
  await writeFile(log, `${november}.500 100 /srv/homes/200001/www\n${november}.600 20 /srv/homes/200001/www\n`);
  let traffic = await open();
  await traffic.look();
  await traffic.save();
  assert.deepEqual(traffic.get(200_001), { month: "2026-11", bytes: 120 });
  await appendFile(log, `${november}.700 3 /srv/homes/200001/www\nnonsense\n\n1 2 /etc/200001/www\n`);
  await traffic.look();
  traffic = await open();
  await traffic.look();
  assert.deepEqual(traffic.get(200_001), { month: "2026-11", bytes: 123 });
  await appendFile(log, `${december}.000 7 /srv/homes/200001/www\n${november}.900 9 /srv/homes/200001/www\n`);
  await traffic.look();
  await traffic.save();
  assert.deepEqual(traffic.get(200_001), { month: "2026-12", bytes: 7 });
  assert.deepEqual(changed, [200_001, 200_001]);
});
