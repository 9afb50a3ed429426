import assert from "node:assert/strict";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createLog } from "#lib/log.ts";
import { cannotMount, smallDisk } from "../../test/harness/small-disk.ts";

interface Line {
  msg: string;
  role: string;
  dropped?: number;
}

function openLog(t: TestContext) {
  const disk = smallDisk(t, 64 * 1024);
  const path = join(disk.folder, "api.log");
  const fd = openSync(path, "a");
  t.after(() => closeSync(fd));
  const lines = () => readFileSync(path, "utf8").split("\n").filter(Boolean);
  return { disk, log: createLog("api", "info", fd), lines };
}

test("a log line that cannot be written is dropped, and the next one reports how many were dropped", {
  skip: cannotMount,
}, (t) => {
  const { disk, log, lines } = openLog(t);
  log.info("before");
  disk.fill();
  // The last allocated page of the file still takes some lines, and half of one.
  const logged = 200;
  for (let line = 0; line < logged; line++) log.info({ line }, "meanwhile");
  disk.free();
  log.info("after");
  log.info("later");

  const whole = lines().flatMap((line): Line[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  assert.ok(lines().length - whole.length <= 1, "only the line that met the end of the disk is torn");
  const written = whole.filter(({ msg }) => msg === "meanwhile").length;
  const notices = whole.filter(({ dropped }) => dropped !== undefined);
  assert.deepEqual(
    notices.map(({ dropped, role }) => ({ dropped, role })),
    [{ dropped: logged - written, role: "api" }],
  );
  const others = whole.filter(({ msg, dropped }) => msg !== "meanwhile" && dropped === undefined);
  assert.deepEqual(
    others.map(({ msg }) => msg),
    ["before", "after", "later"],
  );
});
