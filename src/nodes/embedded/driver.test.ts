import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { Client } from "basic-ftp";
import { pino } from "pino";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { NodeUnavailable } from "../driver.ts";
import { testDriver } from "../driver-suite.ts";
import { password, passwordHash, quickHash } from "../test-account.ts";
import { getPage } from "../test-page.ts";
import { createEmbeddedNodeDriver } from "./driver.ts";
import { startTestNode } from "./test-node.ts";

testDriver("embedded", async () => {
  const node = await startTestNode({ limits: { addressGuessesMax: 1_000 } });
  const connect = async (user: string, secret: string) => {
    const client = new Client(5_000);
    await client.access({ host: "127.0.0.1", port: node.ports.ftpPort, user, password: secret }).catch((error) => {
      client.close();
      throw error;
    });
    return client;
  };
  return {
    driver: node.driver,
    first: { password, hash: passwordHash },
    second: { password: "another password", hash: quickHash("another password") },
    canLogIn: (user, secret) =>
      connect(user, secret).then(
        (client) => {
          client.close();
          return true;
        },
        () => false,
      ),
    upload: async (user, secret, name, content) => {
      const client = await connect(user, secret);
      await client.uploadFrom(Readable.from([content]), `/www/${name}`).finally(() => client.close());
    },
    pageStatus: async (identifier, path) => {
      return (await getPage(node.ports.webPort, path, { host: `${identifier}.localhost` })).status;
    },
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
