/**
 * Orders one after another on an idle system. Gateway, registry and this process use the same machine's clock. The journal has whole
 * milliseconds, so a single order is known to a millisecond.
 */
import { systemClock } from "#lib/clock.ts";
import { printTable, summaryCells } from "./statistics.ts";
import { type System, withDatabase, withSystem } from "./system.ts";

const ordersCount = 150;
const warmupOrdersCount = 20;
const waitSeconds = 10;

interface Placed {
  name: string;
  /** Unix milliseconds. */
  acceptedAt: number;
  finishedAt: number;
  postMs: number;
}

export function benchOrders(): Promise<void> {
  return withSystem(async (system) => {
    for (let index = 0; index < warmupOrdersCount; index++) await placeOrder(system, `warm-up-${index}.example`);
    const placed: Placed[] = [];
    for (let index = 0; index < ordersCount; index++) placed.push(await placeOrder(system, `order-${index}.example`));
    const written = await readWritingTimes(system);
    const seen = await Promise.all(placed.map(({ name }) => readCreate(system, name)));
    const untilSeen = (from: (order: Placed) => number) => placed.map((order, index) => seen[index]! - from(order));
    printTable(
      ["milliseconds", "median", "p95", "min", "max"],
      [
        ["POST sent -> 202", ...summaryCells(placed.map(({ postMs }) => postMs))],
        ["row written -> first EPP byte", ...summaryCells(untilSeen(({ name }) => written.get(name) ?? Number.NaN))],
        ["202 -> first EPP byte", ...summaryCells(untilSeen(({ acceptedAt }) => acceptedAt))],
        ["202 -> Finished", ...summaryCells(placed.map(({ acceptedAt, finishedAt }) => finishedAt - acceptedAt))],
      ],
    );
  });
}

/** A moment of the monotonic clock as Unix milliseconds with a fraction. */
const unixMs = (monotonicMs: number) => performance.timeOrigin + monotonicMs;

async function placeOrder({ client }: System, name: string): Promise<Placed> {
  const startedMs = systemClock.monotonicMs();
  const accepted = await client.send("POST", "/domains/registrations", { body: { domain_name: name } });
  const location = accepted.headers.location;
  if (accepted.status !== 202 || !location) throw new Error(`${name} was answered with ${accepted.status}`);
  for (;;) {
    const { body, receivedMs } = await client.send("GET", location, { waitSeconds });
    const { status } = body as { status: string };
    if (status === "NotProvisioned" || status === "Processing") continue;
    if (status !== "Finished") throw new Error(`the order for ${name} ended as ${status}`);
    return {
      name,
      acceptedAt: unixMs(accepted.receivedMs),
      finishedAt: unixMs(receivedMs),
      postMs: accepted.receivedMs - startedMs,
    };
  }
}

/** When each order's row was written, by name. The commit follows, so the time since the commit is shorter. */
function readWritingTimes(system: System): Promise<Map<string, number>> {
  return withDatabase(system, async (client) => {
    const { rows } = await client.query<{ domain_name: string; created_at: Date }>(
      "SELECT domain_name, created_at FROM orders",
    );
    return new Map(rows.map((row) => [row.domain_name, row.created_at.getTime()]));
  });
}

/** When the order's create arrived, in Unix milliseconds. The check before it belongs to the POST. */
async function readCreate({ ready }: System, name: string): Promise<number> {
  const query = new URLSearchParams({ name, command: "domain:create" });
  const response = await fetch(`http://127.0.0.1:${ready.registry.control_port}/journal?${query}`);
  const { entries } = (await response.json()) as { entries: { at: string; direction: string }[] };
  const ordered = entries.find(({ direction }) => direction === "in");
  if (!ordered) throw new Error(`the registry saw no create for the order of ${name}`);
  return Date.parse(ordered.at);
}
