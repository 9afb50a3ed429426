/** For tests of abuse: one node, and as many accounts as a file of tests needs. */
import { join } from "node:path";
import { after, before } from "node:test";
import type { DesiredAccount } from "#nodes/driver.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount } from "#nodes/test-account.ts";
import { startTestNode, type TestNode, type TestNodeOptions } from "#nodes/test-embedded-node.ts";

export interface TestSite extends DesiredAccount {
  docroot: string;
  /** Logged in, in clear. */
  client: TestFtpClient;
}

/** Starts a node before the tests of the describe() around this call, and ends it after them. */
export function useFtpStage({ limits, ...options }: TestNodeOptions = {}) {
  let node: TestNode | undefined;
  let uid = 300_000;
  before(async () => {
    node = await startTestNode({ ...options, limits: { addressGuessesMax: 1_000, ...limits } });
  });
  after(() => node?.close());
  return {
    get node(): TestNode {
      if (node === undefined) throw new Error("the node is not started yet");
      return node;
    },
    get port(): number {
      return this.node.ports.ftpPort;
    },
    async make(changes: Partial<DesiredAccount> = {}): Promise<TestSite> {
      uid += 1;
      const account = testAccount(`site-${uid}.example`, uid, changes);
      await this.node.driver.ensureAccount(account);
      const docroot = join(this.node.dataDir, "homes", String(uid), "www");
      return { ...account, docroot, client: await TestFtpClient.logIn(this.port, account.identifier) };
    },
  };
}
