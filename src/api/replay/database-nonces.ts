/** The table of used nonces that several api processes share. */
import { createHash } from "node:crypto";
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { committedNoncesSince } from "#use-case/stored-answers.ts";

/** Of the 8 parts of the table. `use_nonce` in db/functions/ has both numbers too; with a window above 900 s, parts would not suffice. */
const rangeSeconds = 900;
const partCount = 8;

// A part is emptied two windows after the end of its range. Three or more are always ready for what is signed ahead.
const emptyParts = statement(
  "nonce-parts-empty",
  `SELECT part, range FROM nonce_parts
   WHERE (range + 1) * ${rangeSeconds} + 2 * $window_seconds::int8 < extract(epoch FROM clock_timestamp())
   ORDER BY part`,
  { part: "int4", range: "int8" },
);
const usePart = statement(
  "nonce-part-use",
  `UPDATE nonce_parts SET range = range + ${partCount} * ceil(
     (extract(epoch FROM clock_timestamp()) - 2 * $window_seconds::int8 - (range + 1) * ${rangeSeconds})
     / (${rangeSeconds} * ${partCount}))::int8
   WHERE part = $part AND range = $range RETURNING part`,
  { part: "int4" },
);

// A nonce with the same second is in the same part, where its digest is unique. With another second it can be in any part in use.
const insertNonces = statement(
  "nonces-insert",
  `WITH sent AS (
     SELECT item, decode(digest, 'hex') AS digest, signed_at, part
     FROM jsonb_to_recordset($items::jsonb) AS sent(item int4, digest text, signed_at int8)
     JOIN nonce_parts ON part = (signed_at / ${rangeSeconds}) % ${partCount} AND range = signed_at / ${rangeSeconds}
   ), written AS (
     INSERT INTO used_nonces (digest, part, signed_at)
     SELECT digest, part, signed_at FROM sent
     WHERE NOT EXISTS (SELECT FROM used_nonces AS other
       WHERE other.digest = sent.digest AND other.part <> sent.part AND other.signed_at >= $since_seconds)
     ORDER BY digest, part
     ON CONFLICT (digest, part) DO NOTHING RETURNING digest, part
   )
   SELECT item, written.digest IS NOT NULL AS is_new FROM sent LEFT JOIN written USING (digest, part)`,
  { item: "int4", is_new: "bool" },
);

const keptIn = statement("nonces-kept-in", "SELECT kept_in, horizon_seconds FROM nonce_store FOR UPDATE", {
  kept_in: ["journal", "database"],
  horizon_seconds: "int8",
});
const keepIn = statement(
  "nonces-keep-in",
  "UPDATE nonce_store SET kept_in = $kept_in, horizon_seconds = greatest(horizon_seconds, $horizon_seconds)",
  {},
);

/** Limits one statement of the takeover. */
const takenOverAtOnce = 5_000;

function nonceDigest({ keyId, nonce }: NonceEntry): string {
  return createHash("sha256").update(`${keyId}:${nonce}`).digest("hex").slice(0, 32);
}

/**
 * Writes nonces in one transaction of its own.
 * @returns for each, in order: whether it was new; undefined when no part serves its second, so nothing is known of it
 * @throws DatabaseUnavailable
 */
export async function writeNonces(
  database: Pick<Database | Transaction, "query">,
  entries: readonly NonceEntry[],
  sinceSeconds: number,
): Promise<(boolean | undefined)[]> {
  const items = entries.map((entry, item) => ({ item, digest: nonceDigest(entry), signed_at: entry.timestamp }));
  const rows = await database.query(insertNonces, { items: JSON.stringify(items), since_seconds: sinceSeconds });
  const isNew = new Map(rows.map(({ item, is_new }) => [item, is_new]));
  return entries.map((_, item) => isNew.get(item));
}

/** Empties the parts whose nonces can't be presented any more, for later seconds. @throws DatabaseUnavailable */
export async function turnParts({ database }: Pick<Context, "database">, windowSeconds: number): Promise<void> {
  for (const { part, range } of await database.query(emptyParts, { window_seconds: windowSeconds })) {
    await database.transaction(async (tx) => {
      const [isOurs] = await tx.query(usePart, { part, range, window_seconds: windowSeconds });
      // It has no parameters. A process that came first has emptied it.
      if (isOurs) await tx.raw.query(`TRUNCATE used_nonces_${part}`);
    });
  }
}

/** What a journal knows. */
export interface LeftBehind {
  entries: readonly NonceEntry[];
  horizonSeconds: number;
}

/**
 * From now on nonces are in the database: takes over those of a journal, and the first time those of committed writes.
 * @param readJournal gets whether nonces are in the database already; then this machine comes later than another
 * @returns the horizon: nothing is known of requests signed at or before it, so they are refused
 * @throws DatabaseUnavailable
 */
export function moveToDatabase(
  { database }: Pick<Context, "database">,
  sinceSeconds: number,
  readJournal: (isMoved: boolean) => LeftBehind,
): Promise<number> {
  return database.transaction(async (tx) => {
    const [store] = await tx.query(keptIn, {});
    const isMoved = store!.kept_in === "database";
    const { entries, horizonSeconds } = readJournal(isMoved);
    const committed = isMoved ? [] : await committedNoncesSince(tx, sinceSeconds);
    const all = [
      ...entries,
      ...committed.map(({ key_id, nonce, signed_at }) => ({ keyId: key_id, nonce, timestamp: signed_at })),
    ].filter(({ timestamp }) => timestamp >= sinceSeconds);
    for (let start = 0; start < all.length; start += takenOverAtOnce) {
      await writeNonces(tx, all.slice(start, start + takenOverAtOnce), sinceSeconds);
    }
    await tx.query(keepIn, { kept_in: "database", horizon_seconds: horizonSeconds });
    return Math.max(store!.horizon_seconds, horizonSeconds);
  });
}

/**
 * From now on nonces are in this process's journal.
 * @param refuseAll makes the journal refuse everything that may have been signed before now: it is called if nonces were in the database
 * @throws DatabaseUnavailable
 */
export function moveToJournal({ database }: Pick<Context, "database">, refuseAll: () => void): Promise<void> {
  return database.transaction(async (tx) => {
    const [store] = await tx.query(keptIn, {});
    if (store!.kept_in === "journal") return;
    refuseAll();
    await tx.query(keepIn, { kept_in: "journal", horizon_seconds: 0 });
  });
}
