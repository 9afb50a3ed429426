import { Readable } from "node:stream";
import { test } from "node:test";
import { testDriver } from "../driver-suite.ts";
import { password, passwordHash, quickHash } from "../test-account.ts";
import { getPage } from "../test-page.ts";
import { cannotStart, connectFtp, startTestProftpdNode } from "./test-node.ts";

if (cannotStart) test("the contract of hosting nodes, ProFTPD and nginx", { skip: cannotStart }, () => {});
else {
  testDriver("ProFTPD and nginx", async () => {
    const node = await startTestProftpdNode();
    const statusOf = async (host: string, path: string) => (await getPage(node.web.port, path, { host })).status;
    return {
      driver: node.node,
      first: { password, hash: passwordHash },
      second: { password: "another password", hash: quickHash("another password") },
      canLogIn: (user, secret) =>
        connectFtp(node, user, secret).then(
          (client) => {
            client.close();
            return true;
          },
          () => false,
        ),
      upload: async (user, secret, name, content) => {
        const client = await connectFtp(node, user, secret);
        await client.uploadFrom(Readable.from([content]), `/www/${name}`).finally(() => client.close());
      },
      pageStatus: (identifier, path) => statusOf(`${identifier}.sites.test`, path),
      hostStatus: statusOf,
      close: () => node.close(),
    };
  });
}
