import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { assertEnds, place } from "./judge.ts";

test("a question about a name that the registry's owner missed is asked again", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const { database } = gateway.context;
  const batched = database.batched.bind(database);
  let asked = 0;
  // The first notification is lost, as when the owner reconnects.
  database.batched = async (statement, item) => {
    if (statement.name === "name-check-ask" && asked++ === 0) return [];
    return batched(statement, item);
  };
  await assertEnds(gateway, reseller, await place(gateway, reseller, "unheard.example"), "Finished");
  assert.equal(asked, 2);
});
