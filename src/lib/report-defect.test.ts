import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { reportDefect } from "#lib/report-defect.ts";

test("a defect is a warning of the process, with its stack", async () => {
  const warned = once(process, "warning");
  Promise.reject(new Error("a defect")).catch(reportDefect);
  const [{ name, message }] = await warned;
  assert.equal(name, "Defect");
  assert.match(message, /^Error: a defect\n +at .*report-defect\.test\.ts/);
});
