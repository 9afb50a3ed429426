/** A worker serves as many registries as its operator has contracts with. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { place } from "./judge.ts";

const registriesMore = 24;

test("one worker retries orders at each of two dozen registries", async (t) => {
  const ids = Array.from({ length: registriesMore }, (_, index) => `more-${index}`);
  const gateway = await startTestGateway(t, { moreRegistries: ids.map((id) => ({ id, suffixes: [id] })) });
  const reseller = await gateway.addReseller();
  const orders = await Promise.all(ids.map((id) => place(gateway, reseller, `once-2502-name.${id}`)));
  const ends = await Promise.all(orders.map(({ location }) => gateway.settled(reseller, location)));
  assert.deepEqual(new Set(ends.map(({ status }) => status)), new Set(["Finished"]));
});
