/** What the journal of an api on this machine knows, for an api that keeps nonces in the database. */
import type { NonceEntry } from "#api/replay/nonce-file.ts";
import { type RecoveryOptions, recover } from "#api/replay/recovery.ts";
import { readState } from "#api/replay/state.ts";
import { readBootId } from "#config.ts";
import { unixSeconds } from "#lib/clock.ts";

/** Whether an api has kept a journal there. */
export function hasJournal(journalDir: string): boolean {
  return journalDir !== "" && readState(journalDir) !== undefined;
}

/** @param options `journalDir` may be empty: then everything that may have been signed before now must be refused */
export function readJournal(options: Omit<RecoveryOptions, "freshInstall" | "bootId">): {
  entries: readonly NonceEntry[];
  horizonSeconds: number;
} {
  const { journalDir, clock, windowSeconds } = options;
  if (journalDir === "") return { entries: [], horizonSeconds: unixSeconds(clock) + windowSeconds };
  const { entries, bounds } = recover({ ...options, freshInstall: false, bootId: readBootId() });
  return { entries, horizonSeconds: bounds.horizonSeconds };
}
