/** For tests: accounts of all kinds of nodes, and their password. */
import { hashSync } from "@node-rs/bcrypt";
import { Secret } from "#lib/secret.ts";
import type { DesiredAccount, HostingNode, Usage } from "#nodes/driver.ts";

export const password = "correct horse battery";
export const passwordHash = quickHash(password);

/** A hash of bcrypt's minimum cost. The library writes `$2y$` for what others call `$2b$`. */
export function quickHash(text: string): Secret {
  return new Secret(hashSync(text, 4).replace("$2y$", () => "$2b$"));
}

/** An account with enough room for a test. */
export function testAccount(identifier: string, uid: number, changes: Partial<DesiredAccount> = {}): DesiredAccount {
  return {
    identifier,
    uid,
    passwordHash,
    diskBytesMax: 1_000_000,
    filesMax: 100,
    sessionsMax: 10,
    ftpEnabled: true,
    suspended: false,
    hostNames: [],
    ...changes,
  };
}

/** Changes an account without the gateway. Its password becomes the tests' one, because a node shows no hash. */
export async function changeAccount(
  node: HostingNode,
  identifier: string,
  changes: Partial<DesiredAccount>,
): Promise<void> {
  const account = await node.find(identifier);
  if (account === undefined) throw new Error(`there is no account ${identifier} on the node`);
  await node.ensureAccount({ ...account, passwordHash, ...changes });
}

/** What an account uses, as its node shows it. */
export async function usageOf(node: HostingNode, identifier: string): Promise<Usage> {
  const account = await node.find(identifier);
  if (account === undefined) throw new Error(`there is no account ${identifier} on the node`);
  return account.usage;
}
