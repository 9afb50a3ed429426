import assert from "node:assert/strict";
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { startLogRotation } from "#start/log-rotation.ts";
import { cannotMount, smallDisk } from "../../test/harness/small-disk.ts";

const bytesMax = 10_000;

test("a log is rotated while a process writes to it, and at most twice its size is kept", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-logs-"));
  const file = join(folder, "api.log");
  const fd = openSync(file, "a");
  const rotation = startLogRotation([folder], bytesMax);
  t.after(() => {
    rotation[Symbol.dispose]();
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  for (const round of [1, 2, 3]) {
    const lines = Array.from({ length: 1_000 }, (_, line) => `round ${round} line ${line}\n`).join("");
    writeSync(fd, lines);
    while (statSync(file).size > 0) await sleep(10);
    assert.equal(readFileSync(`${file}.1`, "utf8"), lines);
  }
  writeSync(fd, "and on\n");
  assert.equal(readFileSync(file, "utf8"), "and on\n");
  assert.deepEqual(readdirSync(folder).toSorted(), ["api.log", "api.log.1"]);
});

test("a log on a full disk is truncated at its maximum size, so that there is room for more important data", {
  skip: cannotMount,
}, async (t) => {
  const disk = smallDisk(t, 256 * 1024);
  const file = join(disk.folder, "worker.log");
  const fd = openSync(file, "a");
  writeSync(fd, Buffer.alloc(64 * 1024, "line\n"));
  disk.fill();
  using _rotation = startLogRotation([disk.folder], bytesMax);
  while (statSync(file).size > 0) await sleep(10);
  writeSync(fd, "there is room again\n");
  closeSync(fd);
});
