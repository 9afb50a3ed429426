/** The settings of used nonces, and of the threads that share them; a part of src/config.ts. */
import type { Reader } from "#lib/settings.ts";

/** `DEEDHOUSE_NONCES`: of one api, or of several. */
export type NonceMode = "journal" | "database";

export interface NonceSettings {
  /** Where used nonces are kept. */
  nonces: NonceMode;
  /** Where the api keeps its journal of used nonces, or has kept it; empty: nowhere. */
  replayDir: string;
  signatureWindowSeconds: number;
  /** The table in memory, of an api with a journal. */
  noncesMegabytes: number;
  /** How many threads of the api answer requests. */
  apiThreads: number;
}

/** The table of nonces in the database has parts for this many seconds. */
const databaseWindowSecondsMax = 900;
/** Room for 1.4 million nonces: five minutes of 4,800 requests a second. */
const noncesMegabytesDefault = 64;
const noncesMegabytesMax = 1_024;
/** Each has its own connections to the database. */
const apiThreadsMax = 64;

/** Adds its mistakes to those of the reader. */
export function readNonces({ text, optional, integer, mistakes }: Reader): NonceSettings {
  const nonces = text("DEEDHOUSE_NONCES", "journal");
  const windowSeconds = integer("DEEDHOUSE_SIGNATURE_WINDOW_SECONDS", 300, 1);
  const atMost = (name: string, value: number, most: number): number => {
    if (value > most) mistakes.push(`${name} must be at most ${most}`);
    return value;
  };
  const noncesMegabytes = integer("DEEDHOUSE_NONCES_MEGABYTES", noncesMegabytesDefault, 1);
  const apiThreads = integer("DEEDHOUSE_API_THREADS", 1, 1);
  if (nonces !== "journal" && nonces !== "database") {
    mistakes.push(`DEEDHOUSE_NONCES must be "journal" or "database", not "${nonces}"`);
  }
  const isShared = nonces === "database";
  if (isShared && windowSeconds > databaseWindowSecondsMax) {
    mistakes.push(
      `DEEDHOUSE_SIGNATURE_WINDOW_SECONDS must be at most ${databaseWindowSecondsMax} with DEEDHOUSE_NONCES=database`,
    );
  }
  if (isShared && apiThreads > 1) {
    mistakes.push(
      "DEEDHOUSE_API_THREADS must be 1 with DEEDHOUSE_NONCES=database: threads share a journal; start more api processes instead",
    );
  }
  return {
    nonces: isShared ? "database" : "journal",
    replayDir: isShared ? (optional("DEEDHOUSE_REPLAY_DIR") ?? "") : text("DEEDHOUSE_REPLAY_DIR"),
    signatureWindowSeconds: windowSeconds,
    noncesMegabytes: atMost("DEEDHOUSE_NONCES_MEGABYTES", noncesMegabytes, noncesMegabytesMax),
    apiThreads: atMost("DEEDHOUSE_API_THREADS", apiThreads, apiThreadsMax),
  };
}
