/** Hosting accounts one after another on an idle system: 202 means acknowledged, Ready means proved by FTP and HTTP. */
import { systemClock } from "#lib/clock.ts";
import { printTable, summaryCells } from "./statistics.ts";
import { type System, withSystem } from "./system.ts";

const accountsCount = 60;
const warmupAccountsCount = 8;
const waitSeconds = 10;

export function benchHosting(): Promise<void> {
  return withSystem(async (system) => {
    const packs = (await system.client.send("GET", "/servicepacks")).body as { id: string }[];
    const packId = packs[0]?.id ?? "";
    for (let index = 0; index < warmupAccountsCount; index++) await createAccount(system, packId, `warm-up-${index}`);
    const created: Created[] = [];
    for (let index = 0; index < accountsCount; index++) {
      created.push(await createAccount(system, packId, `account-${index}`));
    }
    printTable(
      ["milliseconds", "median", "p95", "min", "max"],
      [
        ["POST sent -> 202", ...summaryCells(created.map(({ postMs }) => postMs))],
        ["202 -> Ready", ...summaryCells(created.map(({ readyMs }) => readyMs))],
        ["POST sent -> Ready", ...summaryCells(created.map(({ postMs, readyMs }) => postMs + readyMs))],
      ],
    );
  });
}

interface Created {
  /** Until the 202. */
  postMs: number;
  /** From the 202 until a held status answer said Ready. */
  readyMs: number;
}

async function createAccount({ client }: System, packId: string, label: string): Promise<Created> {
  const body = { servicepack_id: packId, identifier: `${label}.example`, password: "Kj8-tnQ4-vvR2" };
  const startedMs = systemClock.monotonicMs();
  const accepted = await client.send("POST", "/hostingaccounts", { body });
  const location = accepted.headers.location;
  if (accepted.status !== 202 || !location) throw new Error(`${label} was answered with ${accepted.status}`);
  const { body: account, receivedMs } = await client.send("GET", location, { waitSeconds });
  const { status } = account as { status: string };
  if (status !== "Ready") throw new Error(`the account ${label} is ${status}`);
  return { postMs: accepted.receivedMs - startedMs, readyMs: receivedMs - accepted.receivedMs };
}
