import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { glob, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Clock, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { formatJoinToken } from "#nodes/agent/join-token.ts";
import { makeCertificate } from "#nodes/certificate.ts";
import { type InstallRequest, planOf } from "#nodes/install/install-machine.ts";
import { type Machine, openMachine } from "#nodes/install/machine.ts";
import { machinePaths } from "#nodes/install/machine-settings.ts";
import { carryOut, pendingChanges } from "#nodes/install/plan.ts";
import { joined, makeTestMachine } from "#nodes/install/test-machine.ts";
import { unitPaths } from "#nodes/install/units.ts";
import { runTool } from "../../../test/harness/running-system.ts";

const skip = process.getuid?.() !== 0 && "not root";
const hasAnalyze = spawnSync("systemd-analyze", ["--version"]).status === 0;
// Wherever these tests lie: a program that is there, as systemd wants it.
const agent = { node: "/usr/bin/env", entry: "/opt/deedhouse/bin/deedhouse.ts" };
const units = ["deedhouse-agent.service", "proftpd.service", "nginx.service"];

const plan = async (machine: Machine, request: Partial<InstallRequest> = {}) =>
  (await planOf(machine, { changes: {}, hostName: "ftp.example", agent, clock: systemClock, ...request })).plan;
const install = async (machine: Machine, request?: Partial<InstallRequest>) => {
  const done: string[] = [];
  await carryOut(await plan(machine, request), (summary) => done.push(summary));
  return done;
};
const read = (machine: Machine, path: string) => readFile(join(machine.root, path), "utf8");

async function ready(t: TestContext, clock: Clock = systemClock) {
  const machine = await makeTestMachine(t, clock);
  await joined(machine);
  return machine;
}

/** Path, mode and content of every file. */
async function everything(machine: Machine): Promise<string[]> {
  const found: string[] = [];
  for await (const path of glob("**", { cwd: machine.root })) {
    const { mode, uid, gid } = await stat(join(machine.root, path));
    const content = (await stat(join(machine.root, path))).isFile() ? await read(machine, path) : "";
    found.push(`${path} ${mode.toString(8)} ${uid}:${gid} ${content}`);
  }
  return found.sort();
}

/** Services of a test that changes files start an hour ago, and what is there by then is older still. */
const hourAgo: Clock = { ...systemClock, now: () => new Date(systemClock.now().getTime() - 3_600_000) };
async function age(machine: Machine): Promise<void> {
  for await (const path of glob("etc/**", { cwd: machine.root })) await utimes(join(machine.root, path), 1, 1);
}

test("a dry run says every change and makes none", { skip }, async (t) => {
  const machine = await ready(t);
  const before = await everything(machine);
  const changes = await pendingChanges(await plan(machine));
  assert.deepEqual(await everything(machine), before);
  assert.deepEqual(machine.changed, []);
  const done: string[] = [];
  await carryOut(await plan(machine), (summary) => done.push(summary));
  assert.deepEqual(
    done,
    changes.map(({ summary }) => summary),
  );
  const conf = changes.find(({ summary }) => summary.includes(machinePaths.nginxConf));
  assert.match(conf?.detail ?? "", /^\+ +root \$site\/www;$/m);
});

test("a second run changes nothing", { skip }, async (t) => {
  const machine = await ready(t);
  assert.ok((await install(machine)).length > 0);
  const [files, commands] = [await everything(machine), machine.changed.length];
  assert.deepEqual(await pendingChanges(await plan(machine)), []);
  assert.deepEqual(await install(machine), []);
  assert.deepEqual([await everything(machine), machine.changed.length], [files, commands]);
});

test("runs that are cut off after each change end where one that is not cut off does", { skip }, async (t) => {
  const [whole, cut] = [await ready(t), await ready(t)];
  const expected = await install(whole);
  const done: string[] = [];
  for (let isDone = false; !isDone; ) {
    const before = done.length;
    const cutting = async () => {
      await carryOut(await plan(cut), (summary) => {
        if (done.length > before) throw new Error("cut off");
        done.push(summary);
      });
      isDone = true;
    };
    await cutting().catch((error: Error) => assert.equal(error.message, "cut off"));
  }
  assert.deepEqual(done, expected);
  const paths = async (machine: Machine) => (await everything(machine)).map((line) => line.split(" ", 3).join(" "));
  assert.deepEqual(await paths(cut), await paths(whole));
  assert.deepEqual(cut.changed, whole.changed);
});

test("what is said is kept for the next run, touches only the files that it is about, and restarts only who reads them", {
  skip,
}, async (t) => {
  const machine = await ready(t, hourAgo);
  await install(machine);
  await age(machine);
  machine.changed.length = 0;
  const done = await install(machine, { changes: { ftpPort: 2121 } });
  assert.deepEqual(done, [
    `replace ${machinePaths.settings} (root:root, 0644)`,
    `replace ${machinePaths.proftpdConf} (root:root, 0644)`,
    "restart deedhouse-agent.service",
    "restart proftpd.service",
  ]);
  assert.ok(!machine.changed.includes("systemctl restart nginx.service"));
  assert.match(await read(machine, machinePaths.proftpdConf), /^Port 2121$/m);
  await age(machine);
  assert.deepEqual(await install(machine), []);
  assert.match(await read(machine, machinePaths.proftpdConf), /^Port 2121$/m);
});

test("the agent of a machine that has joined again is restarted", { skip }, async (t) => {
  const machine = await ready(t, hourAgo);
  await install(machine);
  await age(machine);
  await joined(machine);
  assert.deepEqual(await install(machine), ["restart deedhouse-agent.service"]);
});

test("a file that was edited by hand is put right, and the edit is kept", { skip }, async (t) => {
  const machine = await ready(t, hourAgo);
  await install(machine);
  await age(machine);
  await writeFile(join(machine.root, machinePaths.nginxConf), "# mine\n");
  const [change] = await pendingChanges(await plan(machine));
  assert.match(change?.detail ?? "", /^-# mine$/m);
  assert.deepEqual(await install(machine), [
    `replace ${machinePaths.nginxConf} (root:root, 0644)`,
    "restart nginx.service",
  ]);
  const kept = (await everything(machine)).filter((line) => /^var\/lib\/deedhouse\/backups\/.*nginx\.conf /.test(line));
  assert.match(kept.join(), /nginx\.conf 100600 0:0 # mine\n$/);
});

const isHidden =
  /^\/(var\/)?tmp\//.test(import.meta.dirname) && "no agent can run what lies below /tmp, as this copy does";
test("a token is read from standard input, and not shown", { skip: skip || isHidden }, async (t) => {
  const { root } = await makeTestMachine(t, systemClock);
  const token = formatJoinToken({ url: "https://gateway.example:7443", pin: null, secret: new Secret("hunter2") });
  const args = ["node", "install", "--root", root, "--token-file", "-", "--dry-run"];
  const { code, stdout, stderr } = await runTool(args, { input: `${token.reveal()}\n` });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, /^• join the gateway at https:\/\/gateway\.example:7443 with the one-time token/m);
  assert.doesNotMatch(stdout, /hunter2|dhnode_/);
});

test("packages are installed without their services being started, and what holds these back goes away again", {
  skip,
}, async (t) => {
  const machine = await ready(t);
  machine.breakPackages();
  await assert.rejects(install(machine), /apt-get install .*proftpd-core.* ended with 1/);
  await assert.rejects(stat(join(machine.root, "usr/sbin/policy-rc.d")), /ENOENT/);
  await install(machine);
  assert.deepEqual([...new Set(machine.heldBack)], [true]);
  await assert.rejects(stat(join(machine.root, "usr/sbin/policy-rc.d")), /ENOENT/);
});

test("nothing secret can be read by others, and nothing secret is shown", { skip }, async (t) => {
  const machine = await ready(t);
  const shown = JSON.stringify(await pendingChanges(await plan(machine)));
  assert.doesNotMatch(shown, /PRIVATE KEY/);
  await install(machine);
  const access = async (path: string) => {
    const { mode, gid } = await stat(join(machine.root, path));
    return `${gid} ${(mode & 0o7777).toString(8)}`;
  };
  assert.equal(await access(machinePaths.agent), "0 600");
  assert.equal(await access(machinePaths.ftpCertificate), "0 600");
  assert.equal(await access(machinePaths.siteCertificate), "33 640");
  assert.equal(await access(machinePaths.certificates), "33 750");
  assert.equal(await access("/var/lib/deedhouse"), "0 700");
});

test("a self-signed certificate is renewed before it ends, and one that is given takes its place", {
  skip,
}, async (t) => {
  const machine = await ready(t);
  await install(machine);
  const certificate = async () => new X509Certificate(await read(machine, machinePaths.ftpCertificate));
  const first = await certificate();
  assert.deepEqual(
    [first.subject, (await read(machine, machinePaths.siteCertificate)).length > 0],
    ["CN=ftp.example", true],
  );
  const later: Clock = { ...systemClock, now: () => new Date(first.validToDate.getTime() - 86_400_000) };
  const [renewal] = await install(machine, { clock: later });
  assert.equal(renewal, `renew the self-signed certificate ${machinePaths.ftpCertificate} for ftp.example`);
  assert.ok((await certificate()).validToDate > first.validToDate);
  const given = join(machine.root, "given.pem");
  await writeFile(given, await makeCertificate("ftp.customer.example", [], systemClock));
  await install(machine, { ftpCertificate: given });
  assert.equal((await certificate()).subject, "CN=ftp.customer.example");
  await writeFile(given, "no certificate");
  await assert.rejects(install(machine, { ftpCertificate: given }), /must hold a private key and its certificate/);
});

test("a machine that cannot be a node is refused with a sentence that says why", { skip }, async (t) => {
  const ubuntu = await makeTestMachine(t, systemClock, 'PRETTY_NAME="Ubuntu 24.04"\nID=ubuntu\nVERSION_ID="24.04"\n');
  await assert.rejects(install(ubuntu), { message: "a node runs on Debian 12, and this system is Ubuntu 24.04" });
  await assert.rejects(install(openMachine("/proc/self/fdinfo")), /this system is unknown/);
  const machine = await makeTestMachine(t, systemClock);
  await assert.rejects(
    install(machine),
    /has not joined a gateway yet: give --token-file with the output of deedhouse node token/,
  );
  await assert.rejects(install(machine, { token: "abc" }), /not a node's token/);
  await joined(machine);
  const hidden = { ...agent, entry: "/tmp/deedhouse/bin/deedhouse.ts" };
  await assert.rejects(install(machine, { agent: hidden }), /put it elsewhere, such as \/opt\/deedhouse/);
  await assert.rejects(install(machine, { changes: { publicAddress: "1.2.3" } }), /1\.2\.3 is not an IP address/);
  await writeFile(join(machine.root, machinePaths.settings), '{"ftpPort": "x"}');
  await assert.rejects(install(machine), /node\.json/);
});

test("where systemd does not run, services are set to start with the machine, and that is said", {
  skip,
}, async (t) => {
  const machine = await ready(t);
  const done = await install({ ...machine, isBooted: false });
  assert.deepEqual(
    done.filter((summary) => summary.startsWith("enable ")),
    units.map(
      (unit) => `enable ${unit}; it will start when the machine boots, because systemd is not running there now`,
    ),
  );
  assert.ok(!machine.changed.some((command) => command.startsWith("systemctl restart")));
});

test("systemd understands the agent's unit", {
  skip: skip || (!hasAnalyze && "systemd is not installed"),
}, async (t) => {
  const machine = await ready(t);
  await install(machine);
  const { stderr, status } = spawnSync("systemd-analyze", ["verify", "--man=no", join(machine.root, unitPaths.agent)], {
    encoding: "utf8",
  });
  assert.deepEqual([status, stderr], [0, ""]);
});
