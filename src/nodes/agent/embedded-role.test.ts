import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { forkNode } from "#nodes/test-embedded-node.ts";

test("a node process reports when it is ready, and exits on SIGTERM, SIGINT or without its parent", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  try {
    for (const end of ["SIGTERM", "SIGINT", "disconnect"] as const) {
      const child = forkNode(dataDir);
      const exited = once(child, "exit");
      // A child that ends before it is ready must fail the test, not hang it.
      const first = await Promise.race([once(child, "message"), exited.then(() => undefined)]);
      assert.ok(first !== undefined, "the process ended at its start");
      const [{ type, ftpPort, webPort }] = first;
      assert.equal(type, "ready");
      for (const port of [ftpPort, webPort]) assert.ok(port > 0);
      if (end === "disconnect") child.disconnect();
      else child.kill(end);
      assert.deepEqual(await exited, [0, null], end);
    }
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
