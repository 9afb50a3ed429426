/** What became of the names that clients tried to register: the registry's journal is the witness. */
import assert from "node:assert/strict";
import { registrarId } from "../harness/profiles.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { type Attempt, type Service, tryToSend } from "./clients.ts";

/** Acknowledged registrations that are gone, and names that the registry registered more than once. */
export interface Verdict {
  accepted: number;
  lost: string[];
  doubled: string[];
}

/** Waits until all orders have ended, and compares them with the registry. @param url of the database */
export async function judge(service: Service, url: string, attempts: readonly Attempt[]): Promise<Verdict> {
  const open = "SELECT FROM orders WHERE ended_at IS NULL";
  await until("all orders have ended", async () => (await runSql(url, open)).length === 0);
  const { store } = service.gateway.registry;
  const executed = new Map<string, number>();
  for (const entry of store.journal.entries({ command: "domain:create" })) {
    if (entry.executed && entry.name) executed.set(entry.name, (executed.get(entry.name) ?? 0) + 1);
  }
  const accepted = attempts.filter(({ location }) => location !== undefined);
  const lost: string[] = [];
  for (const { name, location } of accepted) {
    const order = await tryToSend(service, "GET", location!);
    const isFinished = (order?.body as { status?: string } | undefined)?.status === "Finished";
    const isHeld = store.domains.find(name)?.clID === registrarId;
    if (!isFinished || !isHeld || !executed.has(name)) lost.push(`${name}: ${order?.text}`);
  }
  // Without an acknowledgement an order may exist or not; but the registry and the portfolio agree about it.
  for (const { name } of attempts.filter(({ location }) => location === undefined)) {
    const owned = await tryToSend(service, "GET", `/domains/${name}`);
    assert.equal(owned?.status, executed.has(name) ? 200 : 404, name);
  }
  const doubled = attempts.map(({ name }) => name).filter((name) => (executed.get(name) ?? 0) > 1);
  return { accepted: accepted.length, lost, doubled };
}

/** The longest time between two acknowledgements, of which the second one came after this moment. */
export function longestGapMs(attempts: readonly Attempt[], sinceMs: number): number {
  const acknowledged = attempts.filter(({ location }) => location !== undefined).map(({ endedMs }) => endedMs);
  const sorted = acknowledged.sort((a, b) => a - b);
  return Math.max(...sorted.slice(1).map((at, index) => (at > sinceMs ? at - sorted[index]! : 0)));
}
