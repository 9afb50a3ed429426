import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { after, before, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createDatabase } from "#db/database.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { createLog } from "#lib/log.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#postgres/embedded.ts";
import { EmbeddedPostgresError } from "#postgres/error.ts";
import { isRunning } from "#postgres/process.ts";
import { quickFolder } from "../../test/harness/quick-folder.ts";
import { runSql } from "../../test/harness/sql.ts";

const log = createLog("test", "silent");
const quick = { fsync: "off" };
const isRoot = process.getuid?.() === 0;
const otherUser = { uid: 12_345, gid: 12_345 };

let workDir: string;
/** A cluster that was started and stopped once: a copy is faster than initdb. */
let pristine: string;

before(async () => {
  workDir = await mkdtemp(join(await quickFolder(), "deedhouse-embedded-"));
  await chmod(workDir, 0o755);
  pristine = join(workDir, "pristine");
  const server = await startEmbeddedPostgres({ dataDir: pristine, port: 0, log, settings: quick });
  await server.stop();
});

after(() => rm(workDir, { recursive: true }));

async function usedFolder(t: TestContext): Promise<string> {
  const dataDir = await mkdtemp(join(workDir, "used-"));
  // Hooks run in the order of registration, and the one that stops the server is not registered yet; a hook registered
  // by a hook runs last.
  t.after(() => t.after(() => rm(dataDir, { recursive: true })));
  // A thousand files: cp() of node:fs takes 400 ms for them.
  await promisify(execFile)("cp", ["--archive", `${pristine}/.`, dataDir]);
  return dataDir;
}

async function start(t: TestContext, dataDir: string, port = 0): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, port, log, settings: quick });
  t.after(() => server.stop());
  return server;
}

/** Runs a supervisor in its own process, as the leader of its process group. */
async function hold(t: TestContext, dataDir: string, identity = {}) {
  const script = fileURLToPath(new URL("../../test/harness/hold-embedded-postgres.ts", import.meta.url));
  const holder = spawn(process.execPath, [script, dataDir], {
    ...identity,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(holder, "exit");
  t.after(async () => {
    holder.stdin.end();
    await exited;
  });
  const [line] = await once(holder.stdout, "data");
  const said = JSON.parse(String(line)) as { url: string; localUrl: string; pid: number; error?: string };
  return { ...said, groupId: holder.pid!, exited };
}

describe("a new folder", () => {
  test("holds the database, its log, and a password that nobody else can read", async () => {
    const { mode } = await stat(join(pristine, "password"));
    assert.equal(mode & 0o777, 0o600);
    assert.deepEqual((await readdir(pristine)).sort(), ["cluster", "password", "postgres.log"]);
  });

  test("has a database in UTF-8, compared by bytes, with checksums, that only the password opens", async (t) => {
    const { url } = await start(t, await usedFolder(t));
    const [row] = await runSql(
      url,
      "SELECT current_database() AS name, current_setting('data_checksums') AS checksums, current_setting('server_encoding') AS encoding, datcollate AS collation FROM pg_database WHERE datname = current_database()",
    );
    assert.deepEqual(row, { name: "deedhouse", checksums: "on", encoding: "UTF8", collation: "C" });
    const wrong = new URL(url);
    wrong.password = "wrong";
    await assert.rejects(runSql(wrong.href, "SELECT 1"), { code: "28P01" });
  });

  test("two processes may start on it at once: both get the same server", async (t) => {
    const dataDir = await mkdtemp(join(workDir, "new-"));
    t.after(() => t.after(() => rm(dataDir, { recursive: true })));
    const [one, other] = await Promise.all([hold(t, dataDir), hold(t, dataDir)]);
    assert.equal(one.error ?? other.error, undefined);
    assert.equal(one.url, other.url);
  });
});

describe("a server", () => {
  test("has ended when stop() resolves, and keeps its rows for the next start", async (t) => {
    const dataDir = await usedFolder(t);
    const first = await start(t, dataDir);
    await runSql(first.url, "CREATE TABLE thing AS SELECT 7 AS size");
    await first.stop();
    assert.equal(await isRunning(first.pid), false);
    await first.exited;
    const second = await start(t, dataDir, first.port);
    assert.equal(second.url, first.url);
    assert.equal(second.adopted, false);
    assert.deepEqual(await runSql(second.url, "SELECT size FROM thing"), [{ size: 7 }]);
  });

  test("reports its death, and can be restarted under the same URL", async (t) => {
    const dataDir = await usedFolder(t);
    const first = await start(t, dataDir);
    await runSql(first.url, "CREATE TABLE thing AS SELECT 7 AS size");
    process.kill(first.pid, "SIGKILL");
    await first.exited;
    const second = await start(t, dataDir, first.port);
    assert.equal(second.url, first.url);
    assert.deepEqual(await runSql(second.url, "SELECT size FROM thing"), [{ size: 7 }]);
  });

  test("outlives a supervisor that is killed with its whole process group, and the next one adopts it", async (t) => {
    const dataDir = await usedFolder(t);
    const killed = await hold(t, dataDir);
    process.kill(-killed.groupId, "SIGKILL");
    await killed.exited;
    const server = await start(t, dataDir);
    assert.equal(server.adopted, true);
    assert.equal(server.pid, killed.pid);
    assert.equal(server.url, killed.url);
    await server.stop();
    await server.exited;
    assert.equal(await isRunning(killed.pid), false);
  });

  test("keeps running when a second process stops while the first still supervises it", async (t) => {
    const dataDir = await usedFolder(t);
    const first = await hold(t, dataDir);
    const guest = await start(t, dataDir);
    assert.equal(guest.adopted, true);
    await guest.stop();
    assert.deepEqual(await runSql(first.url, "SELECT 1 AS one"), [{ one: 1 }]);
  });

  test("starts although another program has got the number in postmaster.pid", async (t) => {
    const dataDir = await usedFolder(t);
    const pidFile = `${process.pid}\n${dataDir}/cluster\n1\n5432\n\n127.0.0.1\n`;
    await writeFile(join(dataDir, "cluster/postmaster.pid"), pidFile);
    const server = await start(t, dataDir);
    assert.notEqual(server.pid, process.pid);
  });
});

/** Whether a connection uses a Unix socket: PostgreSQL reports no address for those. */
async function isLocal(url: string): Promise<unknown> {
  const [row] = await runSql(url, "SELECT inet_client_addr() IS NULL AS is_local");
  return row?.is_local;
}

describe("a server's Unix socket", () => {
  test("lies where only the server's user may enter, asks for the password, and TCP stays", async (t) => {
    const dataDir = await usedFolder(t);
    const { url, localUrl } = await start(t, dataDir);
    assert.equal(await isLocal(localUrl), true);
    assert.equal(await isLocal(url), false);
    assert.equal((await stat(join(dataDir, "cluster"))).mode & 0o777, 0o700);
    const wrong = new URL(localUrl);
    wrong.password = "wrong";
    await assert.rejects(runSql(wrong.href, "SELECT 1"), { code: "28P01" });
  });

  test("is found again by a process that adopts the server", async (t) => {
    const dataDir = await usedFolder(t);
    const first = await hold(t, dataDir);
    const guest = await start(t, dataDir);
    assert.equal(guest.localUrl, first.localUrl);
    assert.equal(await isLocal(guest.localUrl), true);
  });

  test("may lie in a folder with any name", async (t) => {
    const dataDir = join(await usedFolder(t), `a "b", 'c' %20é`);
    await promisify(execFile)("cp", ["--archive", pristine, dataDir]);
    const { localUrl } = await start(t, dataDir);
    assert.equal(await isLocal(localUrl), true);
  });

  test("is left out when its path would be too long: then everybody uses TCP", async (t) => {
    const dataDir = join(await usedFolder(t), "a".repeat(100));
    await promisify(execFile)("cp", ["--archive", pristine, dataDir]);
    const { url, localUrl } = await start(t, dataDir);
    assert.equal(localUrl, url);
    assert.equal(await isLocal(url), false);
  });

  test("that is gone with its server is a database that is unavailable", async (t) => {
    const server = await start(t, await usedFolder(t));
    const database = createDatabase({ url: server.localUrl, transactionsMax: 1, applicationName: "test", log });
    t.after(() => database.close());
    await server.stop();
    await assert.rejects(
      database.query(statement("embedded-test-one", "SELECT 1 AS one", {}), []),
      DatabaseUnavailable,
    );
  });
});

describe("refuses with one sentence", () => {
  const refused = (dataDir: string, message: RegExp, port = 0) =>
    assert.rejects(startEmbeddedPostgres({ dataDir, port, log, settings: quick }), (error: Error) => {
      assert.ok(error instanceof EmbeddedPostgresError, error.stack);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });

  test("a port that is taken", async (t) => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    t.after(() => taken.close());
    await refused(await usedFolder(t), /^Port \d+ is taken by another program/, (taken.address() as AddressInfo).port);
  });

  test("a folder without PG_VERSION", async (t) => {
    const dataDir = await usedFolder(t);
    await rm(join(dataDir, "cluster/PG_VERSION"));
    await refused(dataDir, /PG_VERSION is missing.*restore it from a backup/);
  });

  test("a folder of another PostgreSQL", async (t) => {
    const dataDir = await usedFolder(t);
    await writeFile(join(dataDir, "cluster/PG_VERSION"), "17\n");
    await refused(dataDir, /belongs to PostgreSQL 17, and this is 18/);
  });

  test("a damaged folder", async (t) => {
    const dataDir = await usedFolder(t);
    await truncate(join(dataDir, "cluster/global/pg_control"), 100);
    await refused(dataDir, /does not start on .* \(could not read file "global\/pg_control".*restore it from a backup/);
  });

  test("a folder whose password is lost", async (t) => {
    const dataDir = await usedFolder(t);
    await rename(join(dataDir, "password"), join(dataDir, "password.lost"));
    await refused(dataDir, /password of the embedded database cannot be read.*restore/);
  });

  test("a password that is not the database's", async (t) => {
    const dataDir = await usedFolder(t);
    await writeFile(join(dataDir, "password"), "wrong\n");
    await refused(dataDir, /does not let us in/);
  });

  test("a path that is no folder", async (t) => {
    const file = join(await usedFolder(t), "file");
    await writeFile(file, "");
    await refused(file, /cannot be used .*--data DIR/);
  });
});

test("runs as the user who starts it, even one without a name", {
  skip: !isRoot && "needs root to become another user",
}, async (t) => {
  const parent = await mkdtemp(join(workDir, "user-"));
  t.after(() => rm(parent, { recursive: true }));
  await chmod(parent, 0o777);
  const held = await hold(t, join(parent, "data"), otherUser);
  assert.equal(held.error, undefined);
  assert.deepEqual(await runSql(held.url, "SELECT 1 AS one"), [{ one: 1 }]);
  assert.equal(await isLocal(held.localUrl), true);

  const refused = await hold(t, await usedFolder(t), otherUser);
  assert.match(refused.error!, /cannot be used .*let the user who starts Deedhouse own it/);
});

describe("as root where user namespaces are forbidden", { skip: !isRoot && "needs root" }, () => {
  before(async () => {
    const forbidding = join(workDir, "bin");
    await mkdir(forbidding);
    await writeFile(join(forbidding, "unshare"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    process.env.PATH = `${forbidding}:${process.env.PATH}`;
  });
  after(() => {
    process.env.PATH = process.env.PATH!.slice(process.env.PATH!.indexOf(":") + 1);
  });

  test("runs as nobody, on a new folder and on one made under a user namespace", async (t) => {
    const newFolder = join(workDir, "nobody");
    t.after(() => rm(newFolder, { recursive: true }));
    for (const dataDir of [newFolder, await usedFolder(t)]) {
      const server = await start(t, dataDir);
      assert.equal((await stat(`/proc/${server.pid}`)).uid, 65_534);
      assert.deepEqual(await runSql(server.url, "SELECT 1 AS one"), [{ one: 1 }]);
      assert.equal(await isLocal(server.localUrl), true);
      await server.stop();
    }
  });

  test("says what to do when nobody cannot reach the folder", async (t) => {
    const closed = await mkdtemp(join(workDir, "closed-"));
    t.after(() => rm(closed, { recursive: true }));
    await assert.rejects(startEmbeddedPostgres({ dataDir: join(closed, "data"), port: 0, log }), {
      message: /cannot reach .*--data DIR.*DATABASE_URL/,
    });
  });
});
