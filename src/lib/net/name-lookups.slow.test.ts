import assert from "node:assert/strict";
import { test } from "node:test";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { startNameServer } from "../../../test/harness/name-server.ts";

test("lookups end although no name server answers, also those that wait for their turn", {
  timeout: 60_000,
}, async (t) => {
  const server = await startNameServer();
  t.after(() => server.close());
  server.mood = "silent";
  const lookups = createNameLookups([server.address]);
  const names = Array.from({ length: 1_100 }, (_, index) => `n${index}.example`);
  const answers = await Promise.all(names.map((name) => lookups.findAddresses(1, name)));
  const problems = answers.map((answer) => ("problem" in answer ? answer.problem : "found"));
  assert.deepEqual(
    Object.entries(Object.groupBy(problems, (problem) => problem)).map(([problem, all]) => [problem, all?.length]),
    [
      ["ETIMEOUT", 1_004],
      ["EBUSY", 96],
    ],
  );
});
