import assert from "node:assert/strict";
import { test } from "node:test";
import { reportOf } from "#domains/kinds/restore-report.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRestoreReport } from "#registry/epp/commands/domain/restore.ts";
import { secretsIn } from "#registry/epp/redaction.ts";

test("a restore report has what the registry shows of the name, and no record of the frame shows it", () => {
  const info = {
    name: "a.example",
    registrant: "REG-1",
    contacts: [{ type: "admin", id: "ADM-1" }],
    nameServers: { hostModel: "objects", hosts: [{ name: "ns1.b.example", addresses: [] }] },
    crDate: new Date("2026-01-01T00:00:00Z"),
    exDate: new Date("2027-01-01T00:00:00Z"),
  } as unknown as DomainInfo;
  const deletedAt = new Date("2026-02-01T00:00:00Z");
  const report = reportOf(info, deletedAt, deletedAt);
  const [pre, post, ...others] = secretsIn(domainRestoreReport("a.example", report).frame("T-1"));
  assert.equal(pre, post);
  assert.deepEqual(others, []);
  for (const shown of ["a.example", "REG-1", "admin", "ADM-1", "ns1.b.example", "2027-01-01"]) {
    assert.ok(pre?.includes(shown), shown);
  }
});
