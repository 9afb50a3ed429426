import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { lookAtDisks } from "#watch/disk-space.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { cannotMount, smallDisk } from "../../test/harness/small-disk.ts";

test("raises an alarm for a disk that has less than a tenth left, and resolves it when there is room", {
  skip: cannotMount,
}, async (t) => {
  const { database } = await testDatabase(t);
  const context = { database, clock: systemClock, log: createLog("test", "silent") };
  const bytes = 1024 * 1024;
  const disks = [smallDisk(t, bytes), smallDisk(t, bytes)] as const;
  const folder = join(disks[0].folder, "data", "replay");
  mkdirSync(folder, { recursive: true });
  const paths = [folder, disks[0].folder, disks[1].folder, join(folder, "none")];
  const look = async () => {
    await lookAtDisks(context, paths);
    return listAlarms(context, { all: false, limit: 10 });
  };

  assert.deepEqual(await look(), []);
  disks[0].fill(bytes * 0.11);
  assert.deepEqual(await look(), []);
  disks[0].free();
  disks[0].fill(bytes * 0.05);
  const [alarm, ...more] = await look();
  assert.deepEqual(more, [], "one for each disk, however many folders are on it");
  assert.match(`${alarm?.kind} ${alarm?.subject}`, new RegExp(`^disk [^:]*:${disks[0].folder}$`));
  assert.match(alarm?.note ?? "", /^[45] % of /);
  disks[0].free();
  assert.deepEqual(await look(), []);
});
