import { test } from "node:test";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { cannotStart, startTestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { type DriverUnderTest, testDriver } from "#nodes/test-driver-suite.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { getPage } from "#nodes/test-page.ts";

interface Machine {
  node: AgentNode;
  ftp: Endpoint;
  web: Endpoint;
  siteDomain: string;
  close(): Promise<void>;
}

async function reachedByAgent({ node, ftp, web, siteDomain, close }: Machine): Promise<DriverUnderTest> {
  // The suite closes the channel itself: an `after` hook in its `before` hook would run before the first test.
  const closers: (() => unknown)[] = [close];
  const channel = await startTestChannel({ after: (hook) => void closers.unshift(hook) });
  const machine = await channel.join("web-1", ftp);
  await machine.start(node);
  return {
    driver: machine.driver,
    siteDomain,
    logIn: (user, secret) => logInFtp(ftp, user, secret, { rejectUnauthorized: false }),
    hostStatus: async (host, path) => (await getPage(web.port, path, { host })).status,
    close: async () => {
      for (const closeOne of closers) await closeOne();
    },
  };
}

// Tests ProFTPD and nginx; where they cannot start, still tests the channel, with the embedded node.
if (cannotStart) {
  testDriver("embedded, through an agent", async () => {
    const node = await startTestNode({ limits: { addressGuessesMax: 1_000 } });
    const { ftpPort, webPort } = node.ports;
    return reachedByAgent({
      node: node.driver,
      ftp: { host: "127.0.0.1", port: ftpPort },
      web: { host: "127.0.0.1", port: webPort },
      siteDomain: "localhost",
      close: () => node.close(),
    });
  });
  test("the contract of hosting nodes, ProFTPD and nginx through an agent", { skip: cannotStart }, () => {});
} else {
  testDriver("ProFTPD and nginx, through an agent", async () => {
    const { node, ftp, web, settings, close } = await startTestProftpdNode();
    return reachedByAgent({ node, ftp, web, siteDomain: settings.siteDomain, close });
  });
}
