/** Finds out what the last run left in the journal of used nonces, and what was lost. */
import { type ListedFile, type NonceEntry, type ReadFile, readNonceFile } from "#api/replay/nonce-file.ts";
import { type Bounds, type JournalState, listFiles, readState } from "#api/replay/state.ts";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";

export interface RecoveryOptions {
  journalDir: string;
  clock: Clock;
  log: Log;
  windowSeconds: number;
  /** Nothing was ever accepted with this database. */
  freshInstall: boolean;
  bootId: string;
}

export interface Recovered {
  bounds: Bounds;
  /** The files that stay listed. */
  files: ListedFile[];
  entries: NonceEntry[];
  /** The entries whose files do not stay: they must be written again. */
  rescued: NonceEntry[];
}

interface Content {
  name: string;
  file: ReadFile;
}

/** Reads the folder. Where entries may be missing, the horizon covers them. */
export function recover(options: RecoveryOptions): Recovered {
  const { journalDir, clock, log, windowSeconds, freshInstall, bootId } = options;
  const warnOfLoss = (loss: string, horizonSeconds: number) =>
    log.warn({ journalDir, horizonSeconds }, `${loss}: requests signed up to the horizon are refused`);
  const state = readState(journalDir);
  if (!state) {
    if (freshInstall && listFiles(journalDir).length === 0) return nothingBelow(0);
    const horizonSeconds = unixSeconds(clock) + windowSeconds;
    warnOfLoss("The journal of used nonces has no state.json", horizonSeconds);
    return nothingBelow(horizonSeconds);
  }
  const contents = state.files.map((name) => ({ name, file: readNonceFile(journalDir, name) }));
  const present = contents.filter((content): content is Content => content.file !== undefined);
  const hasCrashed = state.bootId !== bootId && !state.closedCleanly;
  if (hasCrashed && present.length === contents.length) {
    const recovered = afterCrash(state, present);
    warnOfLoss("The system restarted and the api had not been stopped", recovered.bounds.horizonSeconds);
    return recovered;
  }
  const lost = contents.find(({ name, file }) => !file || file.isDamaged || file.bytes < (state.bytes[name] ?? 0));
  if (!lost) return whole(state, present);
  const horizonSeconds = Math.max(state.horizonSeconds, state.latestSeconds);
  warnOfLoss(`${lost.name} of the journal of used nonces is missing, damaged or cut short`, horizonSeconds);
  return nothingBelow(horizonSeconds);
}

function nothingBelow(seconds: number): Recovered {
  const bounds = { horizonSeconds: seconds, ceilingSeconds: seconds, latestSeconds: seconds };
  return { bounds, files: [], entries: [], rescued: [] };
}

/**
 * Entries that were only in the page cache are gone: they lie at or below the ceiling. Entries above it were fsynced.
 */
function afterCrash(state: JournalState, contents: Content[]): Recovered {
  const horizonSeconds = Math.max(state.horizonSeconds, state.ceilingSeconds);
  const latestSeconds = Math.max(state.latestSeconds, horizonSeconds);
  const rescued = entriesOf(contents).filter(({ timestamp }) => timestamp > horizonSeconds);
  return {
    bounds: { horizonSeconds, ceilingSeconds: horizonSeconds, latestSeconds },
    files: [],
    entries: rescued,
    rescued,
  };
}

function whole({ horizonSeconds, ceilingSeconds, latestSeconds }: JournalState, contents: Content[]): Recovered {
  const files = contents.map(({ name, file: { bytes, entries } }) => {
    return { name, bytes, timestampMax: entries.reduce((latest, { timestamp }) => Math.max(latest, timestamp), 0) };
  });
  const bounds = { horizonSeconds, ceilingSeconds, latestSeconds };
  return { bounds, files, entries: entriesOf(contents), rescued: [] };
}

const entriesOf = (contents: Content[]) => contents.flatMap(({ file }) => file.entries);
