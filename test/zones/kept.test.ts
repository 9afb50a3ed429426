import assert from "node:assert/strict";
import { test } from "node:test";
import { dropOldZones } from "#zones/kept.ts";
import { assertStatus, ourServers, startZoneStage, zoneName } from "./stage.ts";

test("records of a deleted zone go after 30 days, and changes after 400, but for the newest", async (t) => {
  const { gateway, enter, call, sql } = await startZoneStage(t);
  for (const name of [zoneName, "kept.example"]) {
    await enter(name, undefined, ourServers);
    const sets = [{ subname: "www", type: "A", records: ["192.0.2.1"] }];
    assertStatus(await call("PATCH", `/domains/${name}/records`, sets), 202);
    assertStatus(await call("DELETE", `/domains/${name}/dns?confirm=${name}&force=true`), 202);
  }
  await sql("UPDATE zones SET withdrawn_at = now() - interval '29 days' WHERE domain_name = 'kept.example'");
  await sql("UPDATE zones SET withdrawn_at = now() - interval '31 days' WHERE domain_name = $1", [zoneName]);
  await sql("UPDATE zone_changes SET at = now() - interval '401 days'");
  await dropOldZones(gateway.context);
  const left = (table: string) =>
    sql(`SELECT domain_name FROM ${table} JOIN zones ON zones.id = zone_id ORDER BY domain_name`);
  assert.deepEqual(await left("zone_sets"), [{ domain_name: "kept.example" }]);
  assert.deepEqual(await left("zone_changes"), [{ domain_name: "hello.example" }, { domain_name: "kept.example" }]);
  assertStatus(await call("PUT", "/domains/kept.example/dns", { restore: true }), 202);
  assert.match(assertStatus(await call("GET", "/domains/kept.example/records"), 200).text, /192\.0\.2\.1/);
});
