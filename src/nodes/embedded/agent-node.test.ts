import { testDriver } from "#nodes/test-driver-suite.ts";
import { startTestNode } from "#nodes/test-embedded-node.ts";
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
