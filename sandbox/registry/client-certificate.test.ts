import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadClientCertificate } from "./certificates.ts";
import { loginFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startFor } from "./test/setup.ts";

async function identity(files: {
  clientCertFile: string;
  clientKeyFile: string;
}): Promise<{ cert: Buffer; key: Buffer }> {
  return { cert: await readFile(files.clientCertFile), key: await readFile(files.clientKeyFile) };
}

test("accepts only clients with a certificate signed by the given CA", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-client-"));
  context.after(() => rm(folder, { recursive: true }));
  const known = await loadClientCertificate(folder);
  const registry = await startFor(context, { clientCaFile: known.clientCertFile });
  const client = await RawClient.connect(registry.port, registry.caFile, await identity(known));
  assert.match((await client.receive()) ?? "", /<greeting>/);
  assert.equal((await client.ask(loginFrame("gate-one", "secret-1"))).code, 1000);
  client.close();

  const other = await mkdtemp(join(tmpdir(), "sandbox-client-"));
  context.after(() => rm(other, { recursive: true }));
  const stranger = await identity(await loadClientCertificate(other));
  for (const shown of [stranger, {}]) {
    // In TLS 1.3 the client's handshake ends before the server has checked its certificate, so only the end of the connection counts.
    const greeted = RawClient.connect(registry.port, registry.caFile, shown).then((refused) => refused.receive());
    assert.equal(await greeted.catch(() => undefined), undefined);
  }
});

test("creates a client certificate if it requires one and has no CA, and keeps it", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "sandbox-client-"));
  context.after(() => rm(folder, { recursive: true }));
  const first = await startFor(context, { clientCertificates: true, tlsDir: folder });
  const made = await identity(await loadClientCertificate(folder));
  const client = await RawClient.connect(first.port, first.caFile, made);
  assert.match((await client.receive()) ?? "", /<greeting>/);
  client.close();
  assert.deepEqual(
    await identity({ clientCertFile: first.clientCertFile!, clientKeyFile: first.clientKeyFile! }),
    made,
  );
});
