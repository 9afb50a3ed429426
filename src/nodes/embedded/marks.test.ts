import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Marks } from "#nodes/embedded/marks.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-marks-"));
after(() => rm(folder, { recursive: true }));

test("the highest uid is known after a restart, and lower ones are ignored", async () => {
  const path = join(folder, "marks.json");
  const marks = await Marks.open(path);
  await marks.raise(200_002);
  await marks.raise(200_001);
  assert.equal((await Marks.open(path)).highestUid, 200_002);
});

test("a node from before 0.1.0 that had a control port is refused, and its file stays as it is", async () => {
  const path = join(folder, "earlier.json");
  const text = '{"counter":7,"uid":200001}\n';
  await writeFile(path, text);
  await assert.rejects(
    Marks.open(path),
    /earlier\.json belongs to a node from before 0\.1\.0: start with another --data folder/,
  );
  assert.equal(await readFile(path, "utf8"), text);
});
