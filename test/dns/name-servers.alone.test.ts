import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startDnsServer } from "#dns/server.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { askSerial } from "#lib/net/name-lookups.ts";
import { createZoneFinder } from "#zones/find.ts";
import { adoptZones, openFeed } from "#zones/servers/adopt.ts";
import { catalogName, readCatalog } from "#zones/servers/catalog.ts";
import { compareZones } from "#zones/servers/compare.ts";
import { createFeed } from "#zones/servers/feed.ts";
import { addServer, findServer, removeNameServer } from "#zones/servers/manage.ts";
import { bindConfig, knotConfig } from "#zones/servers/print-config.ts";
import type { Scope } from "../harness/database.ts";
import { freePorts } from "../harness/free-ports.ts";
import { eventually } from "../harness/running-system.ts";
import { assertStatus, ourServers, startZoneStage, type ZoneStage, zoneSettings } from "../zones/stage.ts";

const wait = { headers: { prefer: "wait=30" } };
const kinds = ["knot", "bind"] as const;
type Kind = (typeof kinds)[number];
const programs: Record<Kind, string> = { knot: "/usr/sbin/knotd", bind: "/usr/sbin/named" };
const isThere = (kind: Kind) => spawnSync(programs[kind], ["-V"]).error === undefined;
const missing = kinds.filter((kind) => !isThere(kind));

async function startServer(t: Scope, stage: ZoneStage, kind: Kind, gatewayPort: number) {
  const [port] = await freePorts(1);
  const { context } = stage.gateway;
  await addServer(context, {
    id: kind,
    hostName: `${kind}.dns.test`,
    address: "127.0.0.1",
    port: port!,
    isPublic: true,
  });
  const directory = await mkdtemp(join(tmpdir(), `deedhouse-${kind}-`));
  t.after(() => t.after(() => rm(directory, { recursive: true, force: true })));
  await mkdir(join(directory, "run"));
  await chmod(directory, 0o755);
  const { address, newestKeys: keys } = await findServer(context, kind);
  const catalog = catalogName((await readCatalog(context))!.label);
  const gateway = { address: "127.0.0.1", port: gatewayPort };
  const configured = { address, port: port!, gateway, keys, catalog, directory };
  const file = join(directory, "config");
  // On a server of its own it would take the system's folders for these.
  const text =
    kind === "knot"
      ? knotConfig(configured).replace("server:\n", `server:\n    rundir: ${directory}/run\n`)
      : `controls {};\n${bindConfig(configured).replace("options {\n", `options {\n    pid-file "${directory}/run/pid";\n    session-keyfile "${directory}/run/key";\n`)}`;
  await writeFile(file, text);
  let child: ChildProcess;
  const run = () => {
    const args = kind === "knot" ? ["-c", file] : ["-g", "-c", file];
    child = spawn(programs[kind], args, { stdio: process.env.DNS_TEST_LOG ? "inherit" : "ignore" });
  };
  run();
  t.after(async () => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  });
  return {
    kind,
    port: port!,
    serial: (zone: string) => askSerial({ host: "127.0.0.1", port: port! }, zone, new AbortController().signal),
    async crash() {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
      run();
    },
  };
}

async function startAll(t: Scope) {
  const [port] = await freePorts(1);
  const zones = { ...zoneSettings, port: port! };
  const stage = await startZoneStage(t, { worker: true, context: { zones } });
  const { context } = stage.gateway;
  const findZone = createZoneFinder(context);
  const startDns = () =>
    startDnsServer({
      host: zones.host,
      port: zones.port,
      answered: parseRanges(["127.0.0.0/8"]),
      findZone,
      feed: createFeed(context, findZone),
      clock: systemClock,
      log: createLog("test", "silent"),
    });
  let dns = await startDns();
  t.after(() => dns.close());
  const servers = await Promise.all(kinds.map((kind) => startServer(t, stage, kind, port!)));
  return {
    ...stage,
    context,
    servers,
    async restartDns() {
      await dns.close();
      dns = await startDns();
    },
    /** Lets the chore of every minute run now. */
    watch: () =>
      stage.sql("UPDATE chores SET next_step_at = now() WHERE name = 'name-servers' AND next_step_at > now()"),
  };
}

test("Knot and BIND serve what the printed configurations bring", {
  skip: missing.length > 0 && `${missing} is not installed`,
}, async (t) => {
  const { enter, call, leave, sql, servers, watch, context, restartDns } = await startAll(t);
  const zone = "hello.example";
  const showsAll = (wanted: number, name = zone) =>
    eventually(`both show ${name} ${wanted}`, async () => {
      await watch();
      const shown = await Promise.all(servers.map((server) => server.serial(name)));
      return shown.every(({ serial }) => serial === wanted);
    });
  const serialOf = async (name = zone) =>
    Number((await sql("SELECT serial FROM zones WHERE domain_name = $1 AND state <> 'Withdrawn'", [name]))[0]!.serial);
  await eventually("both are fed", async () => {
    await watch();
    const rows = await sql("SELECT id FROM name_servers WHERE proven_at IS NOT NULL");
    return rows.length === 2;
  });
  await enter(zone, undefined, ourServers);
  await showsAll(await serialOf());
  const set = (address: string) => [{ subname: "www", type: "A", ttl: 300, records: [address] }];
  const change = assertStatus(await call("PATCH", "records", set("192.0.2.1"), wait), 200).body as { status: string };
  assert.equal(change.status, "Served");
  await showsAll(await serialOf());
  assert.deepEqual((await compareZones(context, null)).found, []);

  for (const server of servers) await server.crash();
  await restartDns();
  assertStatus(await call("PATCH", "records", set("192.0.2.2")), 202);
  await showsAll(await serialOf());

  await enter("other.example", undefined, ourServers);
  await showsAll(await serialOf("other.example"), "other.example");
  await leave("other.example", "deleted");
  await eventually("the zone that has left is gone from both", async () => {
    const shown = await Promise.all(servers.map((server) => server.serial("other.example")));
    return shown.every(({ problem }) => problem === "EREFUSED");
  });

  // The database as it would be after a restore: without the last zones, changes and beacons.
  await eventually("both show a beacon", async () => {
    await watch();
    return (await sql("SELECT id FROM name_servers WHERE beacon_serial IS NULL")).length === 0;
  });
  const served = await serialOf();
  await sql("DELETE FROM zone_changes WHERE serial = $1", [served]);
  await sql(
    `UPDATE zones SET serial = serial - 1000, revision = revision - 1, served_revision = least(served_revision, revision - 1),
       state = 'Active', next_step_at = NULL WHERE domain_name = $1`,
    [zone],
  );
  await sql("UPDATE zone_sets SET records = '{192.0.2.1}' WHERE owner = 'www'");
  await sql("DELETE FROM zone_beacons");
  await sql(
    "INSERT INTO zone_beacons (serial, at) VALUES (extract(epoch FROM now())::int8 - 5000, now() - interval '5000 seconds')",
  );
  await sql("UPDATE name_servers SET proven_at = now() - interval '1 hour'");
  await eventually("both are found ahead", async () => {
    await watch();
    return (await sql("SELECT id FROM name_servers WHERE is_ahead")).length === 2;
  });
  const alarms = await sql("SELECT subject FROM alarms WHERE kind = 'name-server-restored' AND resolved_at IS NULL");
  assert.equal(alarms.length, 2);
  for (const server of servers) assert.equal((await server.serial(zone)).serial, served);
  const found = await adoptZones(context, "knot", true);
  assert.deepEqual(
    found.map(({ zone: name, status, only_there: there }) => [name, status, there]),
    [[zone, "differs", ["www 300 A 192.0.2.2"]]],
  );
  await adoptZones(context, "knot", false);
  assert.deepEqual((await openFeed(context)).sort(), ["bind", "knot"]);
  await eventually("both have the newest serial, and what was taken over", async () => {
    await watch();
    return (await compareZones(context, null)).found.length === 0;
  });
  assert.match(JSON.stringify((await call("GET", "records")).body), /192\.0\.2\.2/);

  await removeNameServer(context, "bind");
  await removeNameServer(context, "knot");
  await showsAll(await serialOf());
});
