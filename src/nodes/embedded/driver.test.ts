import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { pino } from "pino";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { NodeUnavailable } from "#nodes/driver.ts";
import { createEmbeddedNodeDriver } from "#nodes/embedded/driver.ts";
import { startTestNode } from "#nodes/embedded/test-node.ts";
import { testDriver } from "#nodes/test-driver-suite.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { getPage } from "#nodes/test-page.ts";

testDriver("embedded", async () => {
  const node = await startTestNode({ limits: { addressGuessesMax: 1_000 } });
  const ftp = { host: "127.0.0.1", port: node.ports.ftpPort };
  return {
    driver: node.driver,
    siteDomain: "localhost",
    logIn: (user, secret) => logInFtp(ftp, user, secret),
    hostStatus: async (host, path) => (await getPage(node.ports.webPort, path, { host })).status,
    close: () => node.close(),
  };
});

test("a node that is not there, or that does not know the token, is unavailable", async () => {
  const node = await startTestNode();
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const { port } = gone.address() as AddressInfo;
  await once(gone.close(), "close");
  for (const controlPort of [port, node.ports.controlPort]) {
    const driver = createEmbeddedNodeDriver({
      controlUrl: `http://127.0.0.1:${controlPort}`,
      controlToken: new Secret("wrong"),
      ftp: { host: "127.0.0.1", port: node.ports.ftpPort },
      web: { host: "127.0.0.1", port: node.ports.webPort },
      siteDomain: "localhost",
      random: systemRandom,
      log: pino({ level: "silent" }),
    });
    await assert.rejects(driver.list(), NodeUnavailable);
  }
  await node.close();
});
