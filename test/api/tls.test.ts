import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, type SecureVersion } from "node:tls";
import { listAlarms } from "#alarms.ts";
import { createReplayGuard } from "#api/replay/replay.ts";
import { startServer } from "#api/server.ts";
import { followCertificate } from "#front/certificate.ts";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { readTlsPair } from "#lib/net/tls-pair.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { eventually } from "../harness/running-system.ts";

const lookMs = 20;
const gateway = await startTestGateway({ after }, { worker: false });

/** An api that follows a folder as certbot keeps it: names that are links, which are set to another pair by a rename. */
async function startSecureApi(t: { after(work: () => unknown): void }, { context }: TestGateway) {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-tls-"));
  let renewals = 0;
  const write = async (pair: { certificate: string; key: string }) => {
    renewals += 1;
    const archive = join(folder, `archive-${renewals}`);
    await mkdir(archive);
    for (const name of ["certificate", "key"] as const) {
      await writeFile(join(archive, name), pair[name]);
      await symlink(join(archive, name), join(folder, `next-${name}`));
      await rename(join(folder, `next-${name}`), join(folder, name));
    }
  };
  const first = await testCertificate();
  await write(first);
  const files = { certificate: join(folder, "certificate"), key: join(folder, "key") };
  const served = readTlsPair(files);
  const replayGuard = createReplayGuard({ ...context, journalDir: join(folder, "replay"), windowSeconds: 300 });
  replayGuard.open(true);
  const limits = { windowSeconds: 300, sourceFailuresMax: 100 };
  const server = await startServer(context, { host: "127.0.0.1", port: 0, replayGuard, tls: served, ...limits });
  const unfollow = followCertificate(context, { subject: "the api", served, lookMs, serve: server.useCertificate });
  t.after(async () => {
    unfollow();
    await server.close();
    replayGuard.close();
    await rm(folder, { recursive: true });
  });
  return { port: server.port, files, first, write };
}

const serialOf = (certificate: string) => new X509Certificate(certificate).serialNumber;

async function secure(port: number, maxVersion?: SecureVersion) {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...(maxVersion && { maxVersion }) });
  await once(socket, "secureConnect");
  return { socket, serial: socket.getPeerCertificate().serialNumber };
}

/** The certificate of a new connection. */
async function shown(port: number): Promise<string> {
  const { socket, serial } = await secure(port);
  socket.destroy();
  return serial;
}

const openAlarms = async () =>
  (await listAlarms(gateway.context, { all: false, limit: 10 })).map(({ kind, subject }) => `${kind} of ${subject}`);

test("the api answers over TLS 1.2 and 1.3, and over nothing older", async (t) => {
  const { port } = await startSecureApi(t, gateway);
  for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
    const { socket } = await secure(port, version);
    assert.equal(socket.getProtocol(), version);
    socket.write("GET /domains HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1\.1 401 /);
    socket.destroy();
  }
  const old = connect({
    port,
    host: "127.0.0.1",
    rejectUnauthorized: false,
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
  });
  await assert.rejects(once(old, "secureConnect"));
});

test("a renewed certificate serves new connections, and cuts no old ones", async (t) => {
  const { port, first, write } = await startSecureApi(t, gateway);
  const { socket: old } = await secure(port);
  t.after(() => old.destroy());
  assert.equal(await shown(port), serialOf(first.certificate));
  for (let renewal = 0; renewal < 3; renewal++) {
    const next = await testCertificate();
    await write(next);
    await eventually("the new certificate is shown", async () => (await shown(port)) === serialOf(next.certificate));
  }
  old.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  const [answer] = await once(old, "data");
  assert.match(String(answer), /^HTTP\/1\.1 200 /);
  await eventually("no alarm is left", async () => (await openAlarms()).length === 0);
});

test("an invalid certificate leaves the old one in use, and is an alarm until it is fixed", async (t) => {
  const { port, files, first, write } = await startSecureApi(t, gateway);
  const next = await testCertificate();
  const broken: [what: string, break_: () => Promise<void>][] = [
    ["a key of another certificate", () => write({ certificate: first.certificate, key: next.key })],
    ["half a certificate", () => write({ ...first, certificate: first.certificate.slice(0, 100) })],
    ["no file", () => rm(files.key)],
  ];
  for (const [what, break_] of broken) {
    await break_();
    await eventually(`${what} is an alarm`, async () => (await openAlarms()).includes("certificate of the api"));
    assert.equal(await shown(port), serialOf(first.certificate), what);
    await write(first);
    await eventually(`${what} is over`, async () => (await openAlarms()).length === 0);
  }
  await write(next);
  await eventually("the new certificate is shown", async () => (await shown(port)) === serialOf(next.certificate));
});
