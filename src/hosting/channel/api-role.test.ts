import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generate } from "selfsigned";
import { startApi } from "#api/role.ts";
import { loadConfig } from "#config.ts";
import { statement } from "#db/statement.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { parseJoinToken } from "#nodes/agent/join-token.ts";
import { createTransport, pinOf } from "#nodes/agent/transport.ts";
import type { Role } from "#role.ts";
import { testDatabase } from "../../../test/harness/database.ts";

const insertNode = statement(
  "test-api-role-node",
  `INSERT INTO hosting_nodes (id, kind, ftp_host, ftp_port, web_host, web_port, capacity_bytes, accounts_max, created_at, updated_at)
   VALUES ('web-1', 'proftpd-nginx', 'localhost', 21, 'localhost', 80, 1, 1, now(), now())`,
  {},
);

const environment = {
  DATABASE_URL: "postgres://localhost/none",
  DEEDHOUSE_MASTER_KEY: `1:${"5a".repeat(31)}00`,
  DEEDHOUSE_REPLAY_DIR: "replay",
  DEEDHOUSE_REGISTRIES_FILE: "registries.json",
};
const endpointOf = (own: Record<string, string>) => loadConfig({ ...environment, ...own }).agentEndpoint;

test("without a port there is no endpoint for agents, and beyond loopback none without TLS", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-endpoint-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "x.pem");
  await writeFile(file, "pem\n");
  const tls = { DEEDHOUSE_NODES_CERTIFICATE_FILE: file, DEEDHOUSE_NODES_KEY_FILE: file };
  const port = { DEEDHOUSE_NODES_PORT: "7443" };
  const url = "https://gateway.example:7443";

  assert.equal(endpointOf({}), undefined);
  assert.deepEqual(endpointOf(port), { host: "127.0.0.1", port: 7443, connectionsMax: 2_000 });
  assert.throws(() => endpointOf({ ...port, DEEDHOUSE_NODES_HOST: "192.0.2.1" }), /CERTIFICATE_FILE is not set/);
  assert.throws(
    () => endpointOf({ ...port, ...tls, DEEDHOUSE_NODES_HOST: "0.0.0.0" }),
    /DEEDHOUSE_NODES_URL is not set/,
  );
  const { DEEDHOUSE_NODES_KEY_FILE: _, ...half } = tls;
  assert.throws(() => endpointOf({ ...port, ...half }), /must be set together/);
  const proxied = { host: "192.0.2.1", port: 7443, url, connectionsMax: 2_000 };
  assert.deepEqual(endpointOf({ ...port, DEEDHOUSE_NODES_HOST: "192.0.2.1", DEEDHOUSE_NODES_URL: url }), proxied);
});

test("the api starts the endpoint, and tokens name it with the key of its certificate", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-endpoint-"));
  let api: Role | undefined;
  t.after(async () => {
    await api?.close();
    await rm(folder, { recursive: true });
  });
  const { url, database } = await testDatabase(t);
  const made = await generate([{ name: "commonName", value: "gateway.test" }], { keyType: "ec", curve: "P-256" });
  const files = { registries: "[]", certificate: made.cert, key: made.private };
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  api = await startApi(
    loadConfig({
      ...environment,
      DATABASE_URL: url,
      // The server of these tests may lose commits, which production refuses.
      DEEDHOUSE_DEPLOYMENT: "sandbox",
      DEEDHOUSE_LOG_LEVEL: "silent",
      DEEDHOUSE_API_PORT: "0",
      DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
      DEEDHOUSE_REGISTRIES_FILE: join(folder, "registries"),
      DEEDHOUSE_NODES_PORT: "0",
      DEEDHOUSE_NODES_CERTIFICATE_FILE: join(folder, "certificate"),
      DEEDHOUSE_NODES_KEY_FILE: join(folder, "key"),
    }),
  );
  await database.query(insertNode, {});
  const key = { id: "1", key: new Secret(Buffer.alloc(32)) };
  const sealer = createSealer({ keys: [key], random: systemRandom });
  const context = { database, random: systemRandom, clock: systemClock, sealer };
  const token = parseJoinToken((await createJoinToken(context, "web-1")).reveal());
  assert.equal(token.url, `https://127.0.0.1:${api.ready.nodesPort}`);
  assert.equal(token.pin, pinOf(new X509Certificate(made.cert)));
  const transport = createTransport(token);
  const signal = AbortSignal.timeout(10_000);
  const answer = await transport.send({
    path: "/x",
    headers: {},
    body: Buffer.alloc(0),
    answerBytesMax: 1_000,
    signal,
  });
  transport.close();
  assert.deepEqual([answer.status, answer.body.toString()], [404, '{"error":"not_found"}']);
});
