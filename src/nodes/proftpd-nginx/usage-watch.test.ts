import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { pino } from "pino";
import { UsageWatch } from "#nodes/proftpd-nginx/usage-watch.ts";

test("counts are saved although files change all the time, and accounts that wait are counted after a start", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-usage-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const uid of [1, 2]) {
    await mkdir(join(folder, String(uid)));
    await writeFile(join(folder, String(uid), "page.txt"), "12345");
  }
  const file = join(folder, "usage.json");
  const nothing = () => {};
  const watch = await UsageWatch.open({
    activityLog: join(folder, "activity.log"),
    file,
    docroot: (uid) => join(folder, String(uid)),
    onChange: nothing,
    onLogin: nothing,
    logBytesMax: 1_000,
    log: pino({ level: "silent" }),
  });
  for (const uid of [1, 2]) watch.watch(uid);
  while ([1, 2].some((uid) => watch.get(uid).bytes < 5)) await pause(1);
  await watch.close();
  // Once closed it counts nothing, as if other accounts were always counted first.
  watch.recount(2);
  watch.forget(3);
  await watch.save();
  assert.deepEqual(JSON.parse(await readFile(file, "utf8")).usage, [[1, 5, 1]]);
});
