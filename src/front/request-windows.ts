/**
 * Requests of resellers, counted in the database by several apis: never more than the limit in a window. The rows are unlogged, so
 * no transaction that waits for a replica holds one.
 */
import type { OpenDatabase } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { createTurnStatement } from "#db/turn-statement.ts";
import type { RateLimit } from "#front/rate-limit.ts";
import type { Clock } from "#lib/clock.ts";

/** Of the database's clock. */
export const windowSeconds = 60;

/** SQL: the window of this moment. */
export const windowNow = `floor(extract(epoch FROM clock_timestamp()) / ${windowSeconds})::int8`;

/** SQL: milliseconds until a window ends. */
export const endsInMs = (windowNumber: string) =>
  `((${windowNumber} + 1) * ${windowSeconds}000 - extract(epoch FROM clock_timestamp()) * 1000)::int4`;

// `granted` is a multiple of `size`, because requests that are counted together are allowed together. Rows are locked in one order.
const takeRequests = statement(
  "request-windows-take",
  `WITH asked AS (
     SELECT reseller_id, wanted, size, request_limit, ${windowNow} AS window_number
     FROM jsonb_to_recordset($items::jsonb) AS asked(reseller_id int8, wanted int4, size int4, request_limit int4)
   )
   INSERT INTO request_windows AS kept (window_number, reseller_id, usage, granted)
   SELECT window_number, reseller_id, least(wanted, request_limit) / size * size, least(wanted, request_limit) / size * size
   FROM asked ORDER BY reseller_id
   ON CONFLICT (window_number, reseller_id) DO UPDATE SET (usage, granted) = (
     SELECT kept.usage + granted, granted
     FROM asked, LATERAL (SELECT least(wanted, greatest(request_limit - kept.usage, 0)) / size * size AS granted) AS room
     WHERE asked.reseller_id = kept.reseller_id)
   RETURNING reseller_id, usage, granted, ${endsInMs("window_number")} AS ends_in_ms`,
  { reseller_id: "int8", usage: "int4", granted: "int4", ends_in_ms: "int4" },
);

/** Counts the requests of resellers. */
export interface RequestWindows {
  /**
   * Counts requests, one by default; counts nothing if they exceed the limit.
   * @throws DatabaseUnavailable
   */
  take(resellerId: string, limit: number, count?: number): Promise<RateLimit>;
}

/** What requests of one reseller ask together. */
interface Asked {
  resellerId: string;
  limit: number;
  /** Of each request. */
  size: number;
}

type Granted = Pick<RateLimit, "allowed" | "usage"> & { endsInMs: number };

/** A window as this process has last seen it. It may have ended, and never has less usage. */
interface Seen {
  usage: number;
  endsMs: number;
}

/** @param database for statements of counts alone: it is suspended while one has no answer for 2 s */
export function createRequestWindows(database: OpenDatabase, clock: Clock): RequestWindows {
  /** Of resellers that were refused: as long as the window lasts, further refusals cost no statement. */
  const refused = new Map<string, Seen>();

  /** Each answers as if the requests had come one after the other. */
  async function execute(items: readonly Asked[]): Promise<Granted[]> {
    const groups = Map.groupBy(items, ({ resellerId, limit, size }) => `${resellerId} ${limit} ${size}`);
    const granted = new Map<Asked, Granted>();
    // A statement takes a reseller once. Almost always all its requests ask for the same.
    let left = [...groups.values()];
    while (left.length > 0) {
      const firsts = [...new Map(left.toReversed().map((group) => [group[0]!.resellerId, group])).values()];
      left = left.filter((group) => !firsts.includes(group));
      for (const [item, answer] of await takeOf(database, firsts)) granted.set(item, answer);
    }
    return items.map((item) => granted.get(item)!);
  }

  const ask = createTurnStatement({ name: takeRequests.name, database, execute });

  function rateLimit(limit: number, { allowed, usage, endsMs }: Seen & { allowed: boolean }): RateLimit {
    const used = Math.min(usage, limit);
    const resetSeconds = Math.max(1, Math.ceil((endsMs - clock.monotonicMs()) / 1000));
    return { allowed, limit, usage: used, remaining: limit - used, resetSeconds };
  }

  return {
    async take(resellerId, limit, count = 1) {
      const askedMs = clock.monotonicMs();
      const seen = refused.get(resellerId);
      if (seen && seen.endsMs <= askedMs) refused.delete(resellerId);
      else if (seen && seen.usage + count > limit) return rateLimit(limit, { ...seen, allowed: false });
      const { allowed, usage, endsInMs } = await ask({ resellerId, limit, size: count });
      // Counted from the question on, it does not end later than the database's.
      const now = { usage, endsMs: askedMs + endsInMs };
      if (!allowed) refused.set(resellerId, now);
      return rateLimit(limit, { ...now, allowed });
    },
  };
}

/** @param groups one of each reseller */
async function takeOf(database: OpenDatabase, groups: readonly Asked[][]): Promise<[Asked, Granted][]> {
  const items = groups.map((group) => {
    const { resellerId, limit, size } = group[0]!;
    return { reseller_id: resellerId, request_limit: limit, size, wanted: size * group.length };
  });
  const rows = await database.query(takeRequests, { items: JSON.stringify(items) });
  const rowOf = new Map(rows.map((row) => [String(row.reseller_id), row]));
  return groups.flatMap((group) => {
    const { usage, granted, ends_in_ms: endsInMs } = rowOf.get(group[0]!.resellerId)!;
    return group.map((item, place): [Asked, Granted] => {
      const counted = item.size * (place + 1);
      const allowed = counted <= granted;
      return [item, { allowed, usage: allowed ? usage - granted + counted : usage, endsInMs }];
    });
  });
}
