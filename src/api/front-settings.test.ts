/** How clients reach the api: what the settings allow, and what they refuse at startup. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { startApi } from "#api/role.ts";
import { loadConfig } from "#config.ts";
import { leastDemands } from "#db/facts.ts";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { WrongSetting } from "#lib/settings.ts";
import { testDatabase } from "../../test/harness/database.ts";

const folder = await mkdtemp(join(tmpdir(), "deedhouse-front-"));
after(() => rm(folder, { recursive: true }));
const write = async (name: string, content: string) => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};
const pair = await testCertificate();
const certificate = await write("certificate.pem", pair.certificate);
const key = await write("key.pem", pair.key);
const otherKey = await write("other.pem", (await testCertificate()).key);
const tls = { DEEDHOUSE_TLS_CERTIFICATE_FILE: certificate, DEEDHOUSE_TLS_KEY_FILE: key };
const environment = {
  DATABASE_URL: "postgres://localhost/none",
  DEEDHOUSE_MASTER_KEY: `1:${"5a".repeat(31)}00`,
  DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
  DEEDHOUSE_REGISTRIES_FILE: await write("registries.json", "[]"),
  DEEDHOUSE_LOG_LEVEL: "silent",
  DEEDHOUSE_API_PORT: "0",
};
const configOf = (own: Record<string, string>) => loadConfig({ ...environment, ...own });

test("in production, plain HTTP beyond loopback is refused unless a proxy speaks TLS or the operator allows it", async () => {
  const open = { DEEDHOUSE_API_HOST: "0.0.0.0" };
  const cases: [own: Record<string, string>, plainHttp: string][] = [
    [{}, "no"],
    [{ DEEDHOUSE_API_HOST: "127.0.0.9" }, "no"],
    [{ DEEDHOUSE_API_HOST: "::1" }, "no"],
    [open, "refused"],
    [{ DEEDHOUSE_API_HOST: "127.example" }, "refused"],
    [{ DEEDHOUSE_API_HOST: "2001:db8::1" }, "refused"],
    [{ ...open, DEEDHOUSE_ALLOW_PLAIN_HTTP: "0" }, "refused"],
    [{ ...open, DEEDHOUSE_ALLOW_PLAIN_HTTP: "1" }, "allowed"],
    [{ ...open, DEEDHOUSE_DEPLOYMENT: "sandbox" }, "no"],
    [{ ...open, ...tls }, "no"],
    [{ ...open, DEEDHOUSE_TRUSTED_PROXIES: "10.0.0.0/8", DEEDHOUSE_FORWARDED_HEADER: "Forwarded" }, "no"],
  ];
  for (const [own, plainHttp] of cases) assert.equal(configOf(own).plainHttp, plainHttp, JSON.stringify(own));
  await assert.rejects(startApi(configOf(open)), (error: Error) => {
    assert.ok(error instanceof WrongSetting);
    assert.match(
      error.message,
      /DEEDHOUSE_TLS_CERTIFICATE_FILE.*DEEDHOUSE_TRUSTED_PROXIES.*DEEDHOUSE_ALLOW_PLAIN_HTTP=1/,
    );
    return true;
  });
});

test("plain HTTP that the operator allows is an alarm until the api speaks TLS", async (t) => {
  const { url, database } = await testDatabase(t);
  const context = { database, clock: systemClock, log: createLog("test", "silent") };
  const openAlarms = async () => (await listAlarms(context, { all: false, limit: 10 })).map(({ kind }) => kind);
  // An IPv4-mapped loopback address: nobody else can reach it.
  const settings = { DATABASE_URL: url, DEEDHOUSE_API_HOST: "::ffff:127.0.0.1" };
  // The tests' PostgreSQL would lose commits in a crash.
  const start = (own: Record<string, string>) =>
    startApi({ ...configOf({ ...settings, ...own }), databaseDemands: leastDemands });
  const plain = await start({ DEEDHOUSE_ALLOW_PLAIN_HTTP: "1" });
  await plain.close();
  assert.deepEqual(
    (await openAlarms()).filter((kind) => kind === "plain-http"),
    ["plain-http"],
  );
  const secure = await start({ DEEDHOUSE_API_HOST: "127.0.0.1", ...tls });
  t.after(() => secure.close());
  assert.deepEqual(
    (await openAlarms()).filter((kind) => kind === "plain-http"),
    [],
  );
  const status = await new Promise((resolve, reject) => {
    const asked = { host: "127.0.0.1", port: Number(secure.ready.port), path: "/healthz", ca: pair.certificate };
    const outgoing = request({ ...asked, checkServerIdentity: () => undefined }, (reply) => resolve(reply.statusCode));
    outgoing.on("error", reject).end();
  });
  assert.equal(status, 200);
});

test("a certificate that cannot be served is reported at startup", () => {
  const cases: [own: Record<string, string>, mistake: RegExp][] = [
    [{ DEEDHOUSE_TLS_CERTIFICATE_FILE: certificate }, /must be set together/],
    [{ ...tls, DEEDHOUSE_TLS_KEY_FILE: otherKey }, /DEEDHOUSE_TLS_KEY_FILE cannot be used: the key is not that/],
    [{ ...tls, DEEDHOUSE_TLS_CERTIFICATE_FILE: key }, /DEEDHOUSE_TLS_CERTIFICATE_FILE and .* cannot be used/],
    [{ ...tls, DEEDHOUSE_TLS_KEY_FILE: join(folder, "none") }, /DEEDHOUSE_TLS_KEY_FILE cannot be read/],
  ];
  for (const [own, mistake] of cases) assert.throws(() => configOf(own), mistake);
});

test("proxy settings that would trust nobody, or everybody, are refused at startup", () => {
  const trusted = { DEEDHOUSE_TRUSTED_PROXIES: "10.0.0.1, 2001:db8::/32" };
  const header = { DEEDHOUSE_FORWARDED_HEADER: "X-Forwarded-For" };
  const cases: [own: Record<string, string>, mistake: RegExp][] = [
    [header, /DEEDHOUSE_TRUSTED_PROXIES is not set/],
    [{ DEEDHOUSE_PROXY_PROTOCOL: "1" }, /DEEDHOUSE_TRUSTED_PROXIES is not set/],
    [trusted, /DEEDHOUSE_FORWARDED_HEADER and DEEDHOUSE_PROXY_PROTOCOL are not set/],
    [{ ...trusted, DEEDHOUSE_FORWARDED_HEADER: "X-Real-IP" }, /must be Forwarded or X-Forwarded-For/],
    [{ ...trusted, DEEDHOUSE_PROXY_PROTOCOL: "yes" }, /DEEDHOUSE_PROXY_PROTOCOL must be 1 or 0/],
    [{ ...header, DEEDHOUSE_TRUSTED_PROXIES: "proxy.example" }, /"proxy.example" is not an address or a range/],
    [{ ...header, DEEDHOUSE_TRUSTED_PROXIES: "0.0.0.0/0" }, /"0.0.0.0\/0" is everybody/],
  ];
  for (const [own, mistake] of cases) assert.throws(() => configOf(own), mistake, JSON.stringify(own));
  assert.equal(configOf({ ...trusted, ...header }).proxies?.header, "x-forwarded-for");
  const ofAgents = configOf({ ...trusted, DEEDHOUSE_NODES_PROXY_PROTOCOL: "1", DEEDHOUSE_NODES_PORT: "7443" });
  assert.deepEqual([ofAgents.proxies, ofAgents.agentEndpoint?.proxies?.proxyProtocol], [undefined, true]);
});
