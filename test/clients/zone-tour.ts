/** The calls of a client library about zones and records. */
import assert from "node:assert/strict";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import type { Fields, ForeignClient } from "./foreign-client.ts";

/** Nobody answers there: what is served is no matter of a library. */
export const zones = { nameServers: ["ns1.dns.test"], hostmaster: "hostmaster.dns.test", host: "127.0.0.1", port: 1 };

interface ZoneTour {
  client: ForeignClient;
  gateway: TestGateway;
  reseller: TestReseller;
}

export async function changeRecords({ client, gateway, reseller }: ZoneTour): Promise<void> {
  const domainName = "zoned.example";
  await insertDomains(gateway.databaseUrl, reseller, [domainName]);
  const of = { domainName };
  const www = (...records: string[]) => ({ subname: "www", type: "A", ttl: 300, records });
  const made = await client.get("zones.create", { ...of, sets: [www("192.0.2.1")] });
  assert.equal(made.changeId, "1");
  const { delegation, record_count } = await client.data("zones.get", of);
  assert.deepEqual([delegation, record_count], ["none", 1]);
  const set = await client.get("zones.records.set", { ...of, set: www("192.0.2.2"), ifChangeId: "1" });
  assert.equal(set.changeId, "2");
  const stale = await client.fail("zones.records.change", { ...of, sets: [www()], ifChangeId: "1" });
  assert.equal(stale.errorCode, "zone_changed");
  const text = { subname: "@", type: "TXT", records: ["a;b"] };
  await client.get("zones.records.change", { ...of, sets: [text] });
  for (const method of ["zones.records.list().page", "zones.records.list"]) {
    const sets = await client.data<Fields[]>(method, { ...of, type: "A" });
    assert.deepEqual(
      sets.map(({ subname, records }) => [subname, records]),
      [["www", ["192.0.2.2"]]],
    );
  }
  const key = { ...of, subname: "www", type: "A" };
  assert.equal((await client.data("zones.records.get", key)).ttl, 300);
  const exported = await client.get("zones.records.exportFile", of);
  const file = typeof exported === "string" ? exported : String(exported.data);
  assert.match(file, /^\$ORIGIN zoned\.example\.\n/);
  await client.get("zones.records.replace", { ...of, sets: [] });
  assert.deepEqual(await client.data("zones.records.list", of), []);
  await client.get("zones.records.importFile", { ...of, zoneFile: file });
  await client.get("zones.records.remove", key);
  assert.equal((await client.fail("zones.records.get", key)).errorCode, "record_not_found");
  const changes = await client.data<Fields[]>("zones.changes().page", of);
  assert.deepEqual(await client.data("zones.changes", of), changes);
  const { change_id: changeId } = changes[0]!;
  const change = await client.data("zones.getChange", { ...of, changeId, waitSeconds: 1 });
  assert.deepEqual((change.removed as Fields[])[0]?.records, ["192.0.2.2"]);
  await client.get("zones.delegate", of);
  assert.equal((await client.get("zones.delete", { ...of, isForced: true })).status, 202);
  assert.equal((await client.fail("zones.get", of)).errorCode, "zone_not_found");
  await client.get("zones.restore", of);
  assert.equal((await client.data("zones.get", of)).record_count, 1);
}
