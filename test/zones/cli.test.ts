import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { clientEnvironment } from "../harness/gateway.ts";
import { quickFolder } from "../harness/quick-folder.ts";
import { startZoneStage, zoneName } from "./stage.ts";

const entry = fileURLToPath(new URL("../../bin/deedhouse.ts", import.meta.url));

test("deedhouse dns makes a zone, changes its records, and shows what has changed", async (t) => {
  const { gateway, reseller, enter, sql } = await startZoneStage(t);
  await enter(zoneName);
  const env = clientEnvironment(gateway, reseller);
  const dns = async (...args: string[]) => {
    const child = spawn(process.execPath, [entry, "dns", ...args], { env });
    const [stdout, stderr] = [child.stdout, child.stderr].map((stream) => text(stream));
    const [exitCode] = (await once(child, "close")) as [number];
    return { exitCode, stdout: await stdout!, stderr: await stderr! };
  };
  const done = async (...args: string[]) => {
    const ended = await dns(...args);
    assert.equal(ended.exitCode, 0, ended.stderr);
    return ended.stdout;
  };
  assert.match(await done("create", zoneName), /^change_id +1$/m);
  await done("set", zoneName, "www", "a", "192.0.2.1", "--ttl", "300");
  await done("add", zoneName, "www", "A", "192.0.2.2");
  await done("add", zoneName, "@", "TXT", "v=spf1 -all");
  const shown = await done("show", zoneName);
  assert.match(shown, /^www +300 +A +192\.0\.2\.1$/m);
  assert.match(shown, /^www +300 +A +192\.0\.2\.2$/m);
  assert.match(shown, /^state +Publishing$/m);
  await done("rm", zoneName, "www", "A", "192.0.2.1");
  assert.doesNotMatch(await done("show", zoneName), /192\.0\.2\.1$/m);
  const missing = await dns("rm", zoneName, "www", "A", "192.0.2.9");
  assert.equal(missing.exitCode, 2);
  assert.match(missing.stderr, /no such record: 192\.0\.2\.9/);
  await done("rm", zoneName, "www", "A");
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-zone-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "hello.zone");
  await writeFile(file, `${await done("export", zoneName)}mail A 192.0.2.25\n`);
  await done("import", zoneName, file, "--yes");
  assert.match(await done("history", zoneName, "--take", "1"), /\+ mail A 192\.0\.2\.25$/m);
  const unread = await dns("import", zoneName, join(folder, "none.zone"), "--yes");
  assert.equal(unread.exitCode, 2);
  const waiting = await dns("set", zoneName, "x", "A", "192.0.2.1", "--wait", "--timeout", "1s");
  assert.equal(waiting.exitCode, 7, waiting.stderr);
  assert.match(waiting.stderr, /still Publishing/);
  await sql("UPDATE zone_changes SET served_at = now()");
  const served = await done("set", zoneName, "x", "A", "192.0.2.1", "--wait");
  assert.match(served, /^status +Served$/m);
});
