import { Readable } from "node:stream";
import { Client } from "basic-ftp";
import { agentNodeOf } from "#nodes/agent/test-agent-node.ts";
import { testDriver } from "#nodes/driver-suite.ts";
import { getPage, password, passwordHash, quickHash, startTestNode } from "../../nodes/embedded/test-node.ts";
import { startTestChannel } from "./test-channel.ts";

testDriver("through an agent", async () => {
  const node = await startTestNode({ limits: { addressGuessesMax: 1_000 } });
  // The suite closes it: a hook that is made in the suite's own one would end everything before the first test.
  const closers: (() => unknown)[] = [() => node.close()];
  const channel = await startTestChannel({ after: (hook) => void closers.unshift(hook) });
  const machine = await channel.join("web-1");
  await machine.start(agentNodeOf(node.driver));
  const connect = async (user: string, secret: string) => {
    const client = new Client(5_000);
    await client.access({ host: "127.0.0.1", port: node.ports.ftpPort, user, password: secret }).catch((error) => {
      client.close();
      throw error;
    });
    return client;
  };
  return {
    driver: machine.driver,
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
    close: async () => {
      for (const close of closers) await close();
    },
  };
});
