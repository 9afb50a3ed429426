/**
 * How long the agent takes to apply a change on a node of ProFTPD and nginx, without the channel. And the cost of a login there:
 * ProFTPD searches the lines of all accounts.
 */
import { Readable } from "node:stream";
import { systemClock } from "#lib/clock.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import { cannotStart, connectFtp, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { password, quickHash, testAccount } from "#nodes/test-account.ts";
import { printTable, summaryCells } from "./statistics.ts";

const accountCounts = [5_000, 50_000];
const rounds = 25;
const firstUid = 300_000;

export async function benchHostingNode(): Promise<void> {
  if (cannotStart) throw new Error(`such a node cannot be started here: ${cannotStart}`);
  for (const count of accountCounts) {
    const node = await startTestProftpdNode();
    try {
      const accounts = Array.from({ length: count }, (_, index) =>
        testAccount(`site-${index}.example`, firstUid + index),
      );
      const states = accounts.map((account) => ({ kind: "account" as const, account }));
      const upMs = await timeOf(() => node.node.apply(states));
      const againMs = await timeOf(() => node.node.apply(states));
      process.stdout.write(
        `${count} accounts: brought up in ${Math.round(upMs)} ms, again in ${Math.round(againMs)} ms\n`,
      );
      const rows = await measureChanges(node, accounts.at(-1)!);
      rows.push(["agent started again", [await timeOf(() => node.restart())]]);
      printTable(
        ["milliseconds", "median", "p95", "min", "max"],
        rows.map(([name, samples]) => [name, ...summaryCells(samples)]),
      );
    } finally {
      await node.close();
    }
  }
}

/** @param last the last account in the files */
async function measureChanges(node: TestProftpdNode, last: DesiredAccount): Promise<[string, number[]][]> {
  const rows: [string, number[]][] = [];
  const series = async (
    name: string,
    run: (round: number) => Promise<unknown>,
    prepare = async (_round: number) => {},
  ) => {
    const samples: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await prepare(round);
      samples.push(await timeOf(() => run(round)));
    }
    rows.push([name, samples]);
  };
  const { node: agent } = node;
  const made = (round: number) => testAccount(`new-${round}.example`, firstUid - 1 - round);
  const hashes = [quickHash("another password"), last.passwordHash!];
  await series("new account", (round) => agent.ensureAccount(made(round)));
  await series("new limits", (round) => agent.ensureAccount({ ...last, filesMax: 1_000 + round }));
  await series("new password", (round) => agent.ensureAccount({ ...last, passwordHash: hashes[round % 2]! }));
  await agent.ensureAccount(last);
  await series("login and upload over TLS", async () => {
    const client = await connectFtp(node, last.identifier, password);
    await client.uploadFrom(Readable.from(["x"]), "/www/page.html");
    client.close();
  });
  await series("probe", () => agent.probe(last));
  await series(
    "suspended, with an open session",
    () => agent.ensureAccount({ ...last, suspended: true }),
    async () => {
      await agent.ensureAccount(last);
      const client = await connectFtp(node, last.identifier, password);
      // The session is cut, which is what is measured.
      client.ftp.socket.on("error", () => {});
    },
  );
  await series("removed", (round) => agent.remove(made(round)));
  return rows;
}

async function timeOf(run: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await run();
  return systemClock.monotonicMs() - startedMs;
}
