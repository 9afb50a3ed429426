import assert from "node:assert/strict";
import { test } from "node:test";
import { Quota } from "#nodes/embedded/quota.ts";

test("files that were never counted take nothing from the usage when they are deleted", () => {
  const limits = { diskBytesMax: 100, filesMax: 2, sessionsMax: 1, ftpEnabled: true };
  const quota = new Quota(
    { bytes: 5, files: 1 },
    () => limits,
    () => {},
  );
  for (const path of ["/one", "/two"]) quota.deleted(path, 11);
  assert.deepEqual(quota.usage, { bytes: 0, files: 0 });
  const upload = quota.reserve("/full", undefined);
  assert.throws(() => upload.take(101), { name: "QuotaExceeded" });
  upload.release();
});
