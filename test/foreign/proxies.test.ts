/** Proxies that nobody here wrote: nginx as the operator's page sets it up, and curl's PROXY header. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { parseTrustedProxies } from "#lib/net/trusted-proxies.ts";
import { freePorts } from "../harness/free-ports.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { pageExamples, proxyFolder, runNginx, whyNot } from "../harness/proxy-programs.ts";
import { exchange } from "../harness/raw-http.ts";
import { eventually } from "../harness/running-system.ts";
import { authorize } from "../harness/signed-request.ts";

const trusted = parseTrustedProxies(["127.0.0.1"]);

/** Runs the page's example before an api. Returns the port that it listens on. */
async function startNginx(t: TestContext, apiUrl: string): Promise<number> {
  const folder = await proxyFolder();
  const [port = 0] = await freePorts(1);
  const { certificate, key } = await testCertificate();
  await writeFile(join(folder, "fullchain.pem"), certificate);
  await writeFile(join(folder, "privkey.pem"), key);
  const [example] = await pageExamples("nginx");
  const here = example!
    .replace("127.0.0.1:7400", new URL(apiUrl).host)
    .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replaceAll("/etc/letsencrypt/live/api.reseller.example", folder);
  await runNginx(t, folder, here);
  await eventually("nginx listens", () =>
    secure(port, "127.0.0.1").then(
      (socket) => !!socket.destroy(),
      () => false,
    ),
  );
  return port;
}

async function secure(port: number, from: string) {
  const socket = connect({ port, host: "127.0.0.1", localAddress: from, rejectUnauthorized: false } as object);
  await once(socket, "secureConnect");
  return socket;
}

test("nginx, as the operator's page sets it up, brings each client under its own address", {
  skip: whyNot("nginx", "-v"),
}, async (t) => {
  const proxies = { trusted, header: "x-forwarded-for", proxyProtocol: false } as const;
  const gateway = await startTestGateway(t, { worker: false, server: { proxies, sourceFailuresMax: 3 } });
  const port = await startNginx(t, gateway.url);
  const send = async (from: string, as?: TestReseller, target = "/domains", line = "") => {
    const signed = as && authorize({ key: as.key, clock: gateway.context.clock, method: "GET", target });
    const lines = [
      `GET ${target} HTTP/1.1`,
      "host: api.reseller.example",
      "connection: close",
      `authorization: ${signed}`,
    ];
    return exchange(await secure(port, from), `${lines.join("\r\n")}\r\n${line}\r\n`);
  };
  const reseller = await gateway.addReseller();
  const key = await gateway.addKey(reseller, { allowedAddresses: ["127.0.0.7"] });
  assert.equal((await send("127.0.0.7", key)).status, 200);
  const spoofed = await send("127.0.0.8", key, "/domains", "x-forwarded-for: 127.0.0.7\r\n");
  assert.match(spoofed.text, /authorization_ip_not_allowed/);
  for (let failed = 1; failed < 3; failed++) assert.equal((await send("127.0.0.8")).status, 401);
  assert.equal((await send("127.0.0.8", reseller)).status, 429);
  assert.equal((await send("127.0.0.9", reseller)).status, 200);
  // The signature covers the target as it was written.
  for (const target of ["/domains?skip=0&x=%2f%zz", "//domains", "/hostingaccounts/a%2Fb.example", "/domains/%c3%a9"]) {
    const [there, here] = [await send("127.0.0.7", key, target), await gateway.send(reseller, "GET", target)];
    assert.deepEqual([target, there.status, there.text.length], [target, here.status, here.text.length]);
    assert.notEqual(there.status, 401);
  }
});

test("curl's PROXY header is understood", {
  skip: whyNot("curl", "--version"),
}, async (t) => {
  const proxies = { trusted, proxyProtocol: true };
  const gateway = await startTestGateway(t, { worker: false, server: { proxies } });
  const curl = (...options: string[]) => spawn("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...options]);
  for (const [options, status] of [
    [["--haproxy-protocol"], "200"],
    [[], "000"],
  ] as const) {
    const child = curl(...options, `${gateway.url}/healthz`);
    const [printed] = await once(child.stdout, "data");
    assert.equal(String(printed), status);
  }
});
