/** The Debian package, really installed, used and purged, on a system that only this test sees. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import manifest from "../../package.json" with { type: "json" };
import { buildDeb } from "../../tools/package/deb.ts";
import { freePorts } from "../harness/free-ports.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { startOwnServer } from "../harness/standby.ts";
import { shellBlocks } from "../pages/shell-blocks.ts";
import { type ScratchRoot, scratchRoot, whyNoScratchRoot } from "./scratch-root.ts";
import { startRole } from "./service-process.ts";

const skip =
  (spawnSync("strip", ["--version"]).error !== undefined && "binutils is not installed") || whyNoScratchRoot();

const folder = await mkdtemp(join(tmpdir(), "deedhouse-deb-"));
after(() => rm(folder, { recursive: true }));
let deb: string;
let root: ScratchRoot;
before(async () => {
  if (skip) return;
  deb = await buildDeb(folder);
  root = await scratchRoot();
});
after(() => root?.close());

const commandsOfPage = shellBlocks()
  .filter(({ page }) => page === "docs/deploy.md")
  .flatMap(({ commands }) => commands);
/** Word for word. */
const fromPage = (beginning: string) =>
  commandsOfPage.find((command) => command.startsWith(beginning)) ?? assert.fail(`the page has no ${beginning}`);
/** As systemd starts a service. */
const service = (role: string) =>
  `exec setpriv --reuid=deedhouse --regid=deedhouse --init-groups sh -ac '. /etc/deedhouse/deedhouse.env; exec deedhouse ${role}'`;

test("its installation makes the user and the master key, and starts nothing", { skip }, async () => {
  // The machine of a test need not have what systemd is without.
  const { stdout } = await root.shell(`dpkg --force-depends --install ${deb} 2>&1`);
  assert.match(stdout, /made \/etc\/deedhouse\/master\.key/);
  const { stdout: modes } = await root.shell("stat -c '%a %U:%G %n' /etc/deedhouse/*");
  assert.deepEqual(modes.trim().split("\n"), [
    "640 root:deedhouse /etc/deedhouse/deedhouse.env",
    "640 root:deedhouse /etc/deedhouse/master.key",
    "640 root:deedhouse /etc/deedhouse/registries.json",
  ]);
  assert.match((await root.shell("cat /etc/deedhouse/master.key")).stdout, /^1:[0-9a-f]{64}\n$/);
  assert.match((await root.shell("getent passwd deedhouse")).stdout, /:\/var\/lib\/deedhouse:\/usr\/sbin\/nologin\n$/);
  const links = await root.shell("find /etc/systemd -name 'deedhouse*'");
  assert.equal(links.stdout, "", "no unit is enabled");
  const { stdout: version } = await root.shell("runuser -u deedhouse -- deedhouse --version");
  assert.equal(version, `${manifest.version}\n`);
});

test("with a database and the commands of docs/deploy.md, it serves a signed request", { skip }, async (t) => {
  const { url } = await startOwnServer(t, { fsync: "on" });
  const [port = 0] = await freePorts(1);
  await root.shell(`printf '%s\\n' 'DATABASE_URL=${url}' DEEDHOUSE_API_PORT=${port} >>/etc/deedhouse/deedhouse.env
    ${fromPage("echo DEEDHOUSE_SITE_DOMAIN")}
    install -d -o deedhouse -m 700 /var/lib/deedhouse`);
  const define = fromPage("as_service()");
  for (const command of ["as_service deedhouse migrate", "as_service deedhouse account create first"]) {
    await root.shell(`${define}\n${fromPage(command)}`);
  }
  const create = fromPage("as_service deedhouse key create --account first");
  const { stdout } = await root.shell(`${define}\n${create} --json`);
  const { api_key: id, api_secret: secret } = JSON.parse(stdout) as { api_key: string; api_secret: string };
  const api = await startRole([...root.enter, "sh", "-c", service("api")], "the API is listening", t);
  const key = { id, secret: new Secret(secret) };
  const call = { url: `http://127.0.0.1:${port}`, key, clock: systemClock, method: "GET", target: "/domains" };
  const reply = await sendSigned(call);
  assert.equal(reply.status, 200, reply.text);
  assert.deepEqual(await api.stop(), [0, null]);
});

test("an upgrade keeps the master key and the settings", { skip }, async () => {
  const files = "cat /etc/deedhouse/master.key /etc/deedhouse/deedhouse.env";
  const { stdout: before } = await root.shell(files);
  await root.shell(`dpkg --force-depends --install ${deb}`);
  assert.equal((await root.shell(files)).stdout, before);
});

test("its purge keeps the master key, says so, and leaves no other file", { skip }, async () => {
  const { stdout: key } = await root.shell("cat /etc/deedhouse/master.key");
  const { stdout } = await root.shell("dpkg --purge deedhouse 2>&1");
  assert.match(stdout, /kept \/etc\/deedhouse\/master\.key, .*every database/);
  assert.equal((await root.shell("cat /etc/deedhouse/master.key")).stdout, key);
  const { stdout: left } = await root.shell(`ls /etc/deedhouse; find /usr /lib /var/lib /etc -xdev -name 'deedhouse*'`);
  assert.equal(left, "master.key\n/etc/deedhouse\n");
});
