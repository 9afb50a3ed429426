/** Zones that are accepted load in Knot and in BIND as they are printed. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { parseRecordSet, RecordProblem, type RecordSet } from "#dns/records.ts";
import { checkZone } from "#dns/rules.ts";
import { soaRecord } from "#dns/served-zone.ts";
import { plainSets, recordTexts } from "#dns/test-records.ts";
import { printZoneFile } from "#dns/zone-file.ts";
import { seed } from "../../test/properties/seed.ts";

const zone = "example.com";
const isMissing = (command: string, flag: string) => spawnSync(command, [flag]).error !== undefined;

const checkers = [
  { package: "knot-dnssecutils", command: "kzonecheck", flag: "--version", options: ["-o", zone] },
  {
    package: "bind9-utils",
    command: "named-checkzone",
    flag: "-v",
    options: ["-q", "-i", "local", "-k", "fail", zone],
  },
];

/** Sets of every type, with names in the zone as targets, delegations, and owners with underscores. */
const zones = fc
  .tuple(
    plainSets,
    fc.record({
      mx: recordTexts.MX.map((record) => (record === "0 ." ? [record] : [record, "7 mx.test"])),
      srv: recordTexts.SRV,
      cname: recordTexts.CNAME,
      ns: recordTexts.NS,
      ds: recordTexts.DS,
    }),
  )
  .map(([sets, { mx, srv, cname, ns, ds }]) => [
    ...sets,
    { subname: "mx-1", type: "MX", records: mx },
    { subname: "mx-2", type: "MX", records: ["10 mx-1.example.com"] },
    { subname: "_sip._tcp", type: "SRV", records: [srv] },
    { subname: "_acme-challenge.c-1", type: "CNAME", records: [cname] },
    { subname: "s-1", type: "NS", records: [ns, "ns.s-1.example.com"] },
    { subname: "ns.s-1", type: "AAAA", records: ["2001:db8::1"] },
    { subname: "s-1", type: "DS", records: [ds] },
    { subname: "s-2", type: "NS", records: ["s-2.example.com"] },
    { subname: "s-2", type: "A", records: ["192.0.2.1"] },
    { subname: "gc._msdcs", type: "A", records: ["192.0.2.1"] },
  ]);

function parseZone(inputs: readonly Parameters<typeof parseRecordSet>[1][]): RecordSet[] | undefined {
  try {
    const sets = inputs.map((input) => parseRecordSet(zone, input));
    checkZone(zone, sets);
    return sets;
  } catch (error) {
    // Random records may be the same, or a null MX beside another.
    if (error instanceof RecordProblem) return undefined;
    throw error;
  }
}

for (const { package: name, command, flag, options } of checkers) {
  const skip = isMissing(command, flag) && `${name} is not installed`;
  test(`${command} loads every zone that is accepted`, { skip }, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "deedhouse-zones-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const nameServers = ["ns1.dns.test", "ns2.dns.test"];
    const soa = soaRecord(nameServers, "hostmaster.dns.test", 4_294_967_295);
    let loadedCount = 0;
    fc.assert(
      fc.property(zones, (inputs) => {
        const sets = parseZone(inputs);
        if (!sets) return;
        const path = join(folder, "zone");
        writeFileSync(path, printZoneFile(zone, sets, { soa, nameServers }));
        const { status, stdout, stderr } = spawnSync(command, [...options, path], { encoding: "utf8" });
        assert.equal(status, 0, stdout + stderr);
        loadedCount += 1;
      }),
      { seed, numRuns: 200 },
    );
    assert.ok(loadedCount > 100, `${loadedCount} zones were accepted`);
  });
}
