/** Looks at a database as a new session of ours finds it, and starts nothing. */
import { connectionConfig } from "#db/connection.ts";
import { translateError, UnfitDatabase } from "#db/errors.ts";
import { type DatabaseFacts, type Demands, type Finding, judgeFacts, leastDemands, refusalOf } from "#db/facts.ts";
import { SessionClient } from "#db/session.ts";

export interface DatabaseCheck {
  facts: DatabaseFacts;
  /** Empty: the database is as it should be. */
  findings: Finding[];
}

/** Takes what it finds, so that one look can name everything that is wrong. */
class LookingClient extends SessionClient {
  protected override refuse(): void {}
}

/**
 * Opens two connections for a moment, because only two clients at once can notice that they share a session. It changes nothing.
 * @throws DatabaseUnavailable, the driver's error
 */
export async function checkDatabase(
  url: string,
  role: string,
  demands: Demands = leastDemands,
): Promise<DatabaseCheck> {
  // Its own name: the sessions of a role are counted, and these are not of its pools.
  const config = connectionConfig(url, `deedhouse-check ${role}`);
  const clients = [new LookingClient(config), new LookingClient(config)] as const;
  try {
    const [first, second] = clients;
    await first.connect();
    const { facts } = first;
    // Only now: a pooler of transactions gives it the session that the first one has left.
    if (!facts.isShared) await second.connect();
    const isShared = facts.isShared || second.facts.isShared;
    const all = { ...facts, isShared };
    return { facts: all, findings: judgeFacts(all, demands) };
  } catch (error) {
    throw translateError(error);
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** For processes that can do nothing with a database that is refused. @throws UnfitDatabase; as `checkDatabase` does */
export async function requireDatabase(...place: Parameters<typeof checkDatabase>): Promise<DatabaseCheck> {
  const check = await checkDatabase(...place);
  const refusal = refusalOf(check.findings);
  if (refusal !== undefined) throw new UnfitDatabase(refusal);
  return check;
}
