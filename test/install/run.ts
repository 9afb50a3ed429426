/**
 * `npm run test:install`: makes an empty Debian 12 system a node, boots it, and places an account there. It takes one to two
 * minutes, needs root, debootstrap and Debian's mirror (DEEDHOUSE_TEST_DEBIAN_MIRROR for another one), and leaves nothing.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { generate } from "selfsigned";
import { startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { nodeRoom } from "../harness/profiles.ts";
import { readPage, upload } from "../harness/site.ts";
import { boot } from "./boot.ts";
import { makeTree, whyNoTree } from "./tree.ts";

const packageFolder = resolve(import.meta.dirname, "../..");
const entry = join(packageFolder, "bin", "deedhouse.ts");
const password = "Correct-horse-9-battery";

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.toReversed()) await close();
});

/** Runs the tool as an operator does. @throws with what it printed */
async function install(...args: string[]): Promise<string> {
  const child = spawn(process.execPath, [entry, "node", "install", ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, "exit");
  assert.equal(child.exitCode, 0, stdout + stderr);
  return stdout;
}

test("an empty Debian 12 system becomes a node that takes accounts, and a second run changes nothing", {
  skip: whyNoTree,
}, async () => {
  const tree = await makeTree({ after: (hook) => void closers.push(hook) });
  const gateway = await startTestGateway({ after: (hook) => void closers.push(hook) });
  const made = await generate([{ name: "commonName", value: "gateway.test" }], { keyType: "ec", curve: "P-256" });
  const tls = { certificate: made.cert, key: made.private };
  const endpoint = await startAgentEndpoint(gateway.context, { host: "127.0.0.1", port: 0, tls });
  closers.push(() => endpoint.close());
  const [ftpPort = 0, httpPort = 0, httpsPort = 0] = await freePorts(3);
  const ftp = { host: "127.0.0.1", port: ftpPort };
  const web = { host: "127.0.0.1", port: httpPort };
  const place = { id: "web-1", kind: "proftpd-nginx" as const, ftp, web: { ...web, isHttps: false }, settings: {} };
  await registerNode(gateway.context, place, nodeRoom, false);

  const token = (await createJoinToken(gateway.context, "web-1")).reveal();
  const ports = ["--ftp-port", ftpPort, "--http-port", httpPort, "--https-port", httpsPort].map(String);
  const options = ["--root", tree, "--yes", "--address", "127.0.0.1", "--passive-ports", "31000-31099", ...ports];
  assert.match(await install("--token", token, "--dry-run", ...options), /install the Debian packages proftpd-core/);
  await install("--token", token, ...options);
  assert.match(await install("--root", tree, "--yes"), /^Nothing to change/);

  const machine = await boot(tree, packageFolder);
  closers.push(() => machine.halt());
  // As on the machine itself: systemd runs there, and both servers are looked at.
  const again = await machine.run(process.execPath, entry, "node", "install", "--yes");
  assert.match(again, /^Nothing to change.*\n.*FTP and web work/);

  const reseller = await gateway.addReseller();
  const packId = await gateway.addPack();
  const body = { servicepack_id: packId, identifier: "first.customer.example", password };
  const created = await gateway.send(reseller, "POST", "/hostingaccounts", { body });
  assert.equal(created.status, 202, created.text);
  const account = await gateway.settled(reseller, created.headers.location ?? "").catch(async (error: Error) => {
    throw new Error(`${error.message}\n${await machine.run("journalctl", "--no-pager", "--lines=50")}`);
  });
  assert.equal(account.status, "Ready", JSON.stringify(account));
  await upload(ftp, "first.customer.example", password, "/www/index.html", "hello");
  const page = await readPage(web, "first.customer.example.localhost", "/");
  assert.deepEqual([page.status, page.body], [200, "hello"]);
});
