import { test } from "node:test";
import { cannotStart, connectFtp, startTestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { testDriver } from "#nodes/test-driver-suite.ts";
import { getPage } from "#nodes/test-page.ts";

if (cannotStart) test("the contract of hosting nodes, ProFTPD and nginx", { skip: cannotStart }, () => {});
else {
  testDriver("ProFTPD and nginx", async () => {
    const node = await startTestProftpdNode();
    return {
      driver: node.node,
      siteDomain: node.settings.siteDomain,
      logIn: (user, secret) => connectFtp(node, user, secret),
      hostStatus: async (host, path) => (await getPage(node.web.port, path, { host })).status,
      close: () => node.close(),
    };
  });
}
