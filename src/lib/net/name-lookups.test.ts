import assert from "node:assert/strict";
import { test } from "node:test";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { startNameServer } from "../../../test/harness/name-server.ts";

const silentNames = (count: number) => Array.from({ length: count }, (_, index) => `n${index}.silent.example`);

test("sixty silent names of one account are asked about four at a time, and another account's name is found meanwhile", async (t) => {
  const server = await startNameServer();
  t.after(() => server.close());
  server.silentAbout = /silent/;
  server.addresses.set("hook.example", ["192.0.2.1", "192.0.2.2"]);
  server.records.set("_proof.hook.example", ["one", "two"]);
  const lookups = createNameLookups([server.address]);
  const over = new AbortController();
  const silent = silentNames(60).map((name) => lookups.findAddresses(1, name, over.signal));
  assert.deepEqual(await lookups.findAddresses(2, "hook.example"), { found: ["192.0.2.1", "192.0.2.2"] });
  assert.deepEqual(await lookups.findTexts(2, "_proof.hook.example"), { found: ["one", "two"] });
  const asked = new Set(server.asked.filter((name) => /silent/.test(name)));
  assert.ok(asked.size <= 4, `asked about ${[...asked]}`);
  over.abort();
  for (const answer of await Promise.all(silent)) assert.deepEqual(answer, { problem: "ETIMEOUT" });
});

test("a name that does not exist has nothing, and a name server that fails has a problem", async (t) => {
  const server = await startNameServer();
  t.after(() => server.close());
  const lookups = createNameLookups([server.address]);
  assert.deepEqual(await lookups.findAddresses(1, "nothing.example"), { found: [] });
  server.mood = "fails";
  assert.deepEqual(await lookups.findTexts(1, "nothing.example"), { problem: "ESERVFAIL" });
});

test("no name server is asked about localhost", async () => {
  const lookups = createNameLookups(["127.0.0.1:1"]);
  for (const name of ["localhost", "shop.localhost"]) {
    assert.deepEqual(await lookups.findAddresses(1, name), { found: ["127.0.0.1", "::1"] });
  }
});

test("a name server is an address", () => {
  assert.throws(() => createNameLookups(["dns.example"]), /dns\.example/);
});
