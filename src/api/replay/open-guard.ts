/** Opens the guard that the settings name, together with the lock that excludes an api with the other. */
import { createDatabaseGuard } from "#api/replay/database-guard.ts";
import { type LeftBehind, moveToDatabase, moveToJournal, turnParts } from "#api/replay/database-nonces.ts";
import { keepModeLock } from "#api/replay/mode-lock.ts";
import { hasJournal, readJournal } from "#api/replay/read-journal.ts";
import { createReplayGuard, type ReplayGuard } from "#api/replay/replay.ts";
import { allocateReplayMemory, type ReplayMemory } from "#api/replay/replay-memory.ts";
import type { Config } from "#config.ts";
import type { Context } from "#context.ts";
import { createDatabase } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { openSharedCounts, type SharedCounts } from "#front/shared-counts.ts";
import { unixSeconds, waitAtMost } from "#lib/clock.ts";
import { committedNoncesSince } from "#use-case/stored-answers.ts";

const anyKeyUsed = statement("api-first-start", "SELECT NOT EXISTS (SELECT FROM replay_journals) AS is_first", {
  is_first: "bool",
});
const rememberStart = statement("api-started", "INSERT INTO replay_journals (started_at) VALUES ($now)", {});

/** An api that was killed loses its lock sooner. */
const firstTryMsMax = 3_000;
/** A thread must be replaced soon. Without the database, no read is answered, and a write meets its stored answer. */
const committedMsMax = 400;
/** As long as the guard waits. */
const nonceStatementMsMax = 2_000;

export interface OpenGuard {
  replayGuard: ReplayGuard;
  /** Undefined with a journal: then this api is the only one. */
  sharedCounts: SharedCounts | undefined;
  /** Why no signed request may be answered now. */
  whyRefused(): string | undefined;
  /** Looks after the table; from time to time. @throws DatabaseUnavailable */
  look(): Promise<void>;
  /** For the other threads of this process; only with a journal. */
  threads: GuardOfThreads | undefined;
  close(): Promise<void>;
}

export interface GuardOfThreads {
  memory: ReplayMemory;
  /** Frees what a thread that has died had in flight. Never throws. */
  free(thread: number): Promise<void>;
}

type GuardConfig = Pick<
  Config,
  "nonces" | "replayDir" | "noncesMegabytes" | "signatureWindowSeconds" | "databaseUrl" | "databaseDemands"
>;

/** @param onChange called whenever `whyRefused` may say something else @throws when another process uses the journal's folder; DatabaseUnavailable */
export async function openReplayGuard(
  context: Context,
  config: GuardConfig,
  onChange?: () => void,
): Promise<OpenGuard> {
  const open = config.nonces === "database" ? openDatabaseGuard : openJournalGuard;
  const { replayGuard, sharedCounts, onTaken, look, threads } = await open(context, config);
  const { nonces: mode, databaseUrl } = config;
  const lock = keepModeLock({ mode, databaseUrl, log: context.log, onTaken, onChange });
  await waitAtMost(firstTryMsMax, lock.firstTry);
  return {
    replayGuard,
    sharedCounts,
    whyRefused: lock.refusal,
    threads,
    async look() {
      if (lock.refusal() === undefined) await look();
    },
    async close() {
      replayGuard.close();
      sharedCounts?.close();
      await lock.close();
    },
  };
}

interface Opened {
  replayGuard: ReplayGuard;
  sharedCounts?: SharedCounts;
  onTaken(): Promise<void>;
  look(): Promise<void>;
  threads?: GuardOfThreads;
}

async function openJournalGuard(context: Context, config: GuardConfig): Promise<Opened> {
  const { clock, log, database } = context;
  const { replayDir: journalDir, signatureWindowSeconds: windowSeconds } = config;
  const memory = allocateReplayMemory(config.noncesMegabytes, windowSeconds);
  const replayGuard = createReplayGuard({ journalDir, clock, log, windowSeconds, memory });
  // A database that no api has used cannot have lost a nonce; any other database needs its journal.
  const [first] = await database.query(anyKeyUsed, {});
  replayGuard.open(first?.is_first ?? false);
  if (first?.is_first) await database.query(rememberStart, { now: clock.now() });
  const loadCommitted = async () => {
    const committed = await committedNoncesSince(database, unixSeconds(clock) - windowSeconds);
    replayGuard.load(committed.map(({ key_id, nonce, signed_at }) => ({ keyId: key_id, nonce, timestamp: signed_at })));
  };
  await loadCommitted();
  const refuseAll = () => replayGuard.raiseHorizon(unixSeconds(clock) + windowSeconds);
  return {
    replayGuard,
    onTaken: () => moveToJournal(context, refuseAll),
    async look() {},
    threads: {
      memory,
      async free(thread) {
        replayGuard.freeLocks(thread);
        // It may have committed writes whose nonces it did not mark any more.
        const loaded = loadCommitted().catch((error: unknown) => {
          log.warn({ err: error, thread }, "the nonces of the writes that a thread has committed cannot be read");
        });
        await waitAtMost(committedMsMax, loaded);
        replayGuard.freeInFlight(thread);
      },
    },
  };
}

async function openDatabaseGuard(context: Context, config: GuardConfig): Promise<Opened> {
  const { clock, log } = context;
  const { signatureWindowSeconds: windowSeconds, databaseUrl: url, databaseDemands: demands } = config;
  const database = createDatabase({
    url,
    demands,
    log,
    transactionsMax: 1,
    pipelinedConnections: 0,
    applicationName: "deedhouse-api-nonces",
    connectionTimeoutMs: nonceStatementMsMax,
    statementTimeoutMs: nonceStatementMsMax,
  });
  const replayGuard = createDatabaseGuard({ database, context, windowSeconds });
  const sharedCounts = openSharedCounts({ url, demands, log, clock, statementMsMax: nonceStatementMsMax });
  // After a silence nobody knows whether a connection still leads to the database: the first request on it would wait until it fails.
  context.listener.onReconnect(() => {
    const isOpenStill = context.listener.aliveAsOf() !== undefined;
    if (isOpenStill) return;
    database.renew();
    sharedCounts.renew();
  });
  const { replayDir: journalDir } = config;
  let isTakenOver = false;
  const leftBehind = (isFirst: boolean, isMoved: boolean): LeftBehind => {
    const hasNone = isMoved && !hasJournal(journalDir);
    if (isFirst || isTakenOver || hasNone) return { entries: [], horizonSeconds: 0 };
    const left = readJournal({ journalDir, clock, log, windowSeconds });
    // The others serve already. This machine's journal cannot have answered what is signed from now on.
    return isMoved ? { ...left, horizonSeconds: Math.min(left.horizonSeconds, unixSeconds(clock)) } : left;
  };
  return {
    replayGuard,
    sharedCounts,
    async onTaken() {
      await turnParts(context, windowSeconds);
      const [first] = await context.database.query(anyKeyUsed, {});
      const isFirst = first?.is_first ?? false;
      const sinceSeconds = unixSeconds(clock) - windowSeconds;
      replayGuard.raiseHorizon(await moveToDatabase(context, sinceSeconds, (isMoved) => leftBehind(isFirst, isMoved)));
      isTakenOver = true;
      if (isFirst) await context.database.query(rememberStart, { now: clock.now() });
    },
    async look() {
      await replayGuard.turnParts();
      await sharedCounts.look();
    },
  };
}
