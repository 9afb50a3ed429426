import assert from "node:assert/strict";
import { test } from "node:test";
import { startResetApi } from "../harness/reset-api.ts";

test("10,000 clients that disconnect at any moment of any answer end no process", async (t) => {
  const { api, reset } = await startResetApi(t);
  const { pid } = api;
  await reset(10_000, 24);
  assert.equal(api.pid, pid);
  assert.equal((await fetch(`${api.url}/readyz`)).status, 200);
});
