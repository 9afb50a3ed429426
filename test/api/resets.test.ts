import assert from "node:assert/strict";
import { test } from "node:test";
import { startResetApi } from "../harness/reset-api.ts";

/** A server that a disconnect can end does not survive the first hundred. */
const resetsCount = 300;

test("a client that disconnects at any moment of any answer ends no process", async (t) => {
  const { api, reset } = await startResetApi(t);
  const { pid } = api;
  await reset(resetsCount, 12);
  assert.equal(api.pid, pid);
  assert.equal((await fetch(`${api.url}/readyz`)).status, 200);
});
