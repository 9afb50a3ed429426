import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Writable } from "node:stream";
import { test } from "node:test";
import { pino } from "pino";
import { openRegistryPool } from "#jobs/registry-pool.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { createCertificate } from "#registry/epp/test-stand-in-server.ts";
import { completeProfile } from "#registry/registries.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { runSql } from "../../test/harness/sql.ts";

test("a circuit that opens writes one line to the log, and its state to the database for every process", async (t) => {
  const { url, database } = await testDatabase(t);
  const server = createServer((socket) => socket.destroy()).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const { cert } = await createCertificate();
  const account = { registrarId: "ClientX", password: "foo-BAR2", suffixes: ["example"] };
  const entry = { id: "nic", host: "127.0.0.1", port, caFile: "ca.pem", ...account };
  const circuit = { ...circuitSettingsDefault, faultsMax: 1, probeDelayMsMin: 3_600_000 };
  const lines: { level: number; registry: string; msg: string }[] = [];
  const write = (line: Buffer, _encoding: string, done: () => void) => {
    lines.push(JSON.parse(line.toString()));
    done();
  };
  const pool = await openRegistryPool(
    { database, clock: systemClock, random: systemRandom, log: pino(new Writable({ write })) },
    { ...completeProfile(entry, () => cert), circuit },
  );
  t.after(() => pool.drain(0));
  const isOpen = async () =>
    (await runSql(url, "SELECT FROM registries WHERE id = 'nic' AND circuit_open_until > now()")).length > 0;
  while (!(await isOpen())) await sleep(10);
  assert.deepEqual(
    lines.flatMap(({ registry, msg }) => (/circuit/.test(msg) ? [{ registry, msg }] : [])),
    [{ registry: "nic", msg: "the circuit is open" }],
  );
});
