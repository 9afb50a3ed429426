/** The threads of an api that answer requests: starts them, watches them, replaces those that die or hang, and ends them. */
import { Worker } from "node:worker_threads";
import type { GuardOfThreads } from "#api/replay/open-guard.ts";
import {
  allocateVitals,
  beatMs,
  type FromThread,
  type Refusals,
  type ThreadData,
  type ToThread,
  vitalAt,
} from "#api/threads/messages.ts";
import { allocateCounts, freeCountsThread } from "#front/thread-counts.ts";
import { sleep, waitAtMost } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { countsOf, type ThreadShare } from "#metrics/thread-shares.ts";

/**
 * Looks without a beat between, after which a thread is ended. They are counted, so that a process that hung as a whole does not end
 * its threads. `/healthz` of an event loop fails when it is 5 s behind; what takes twice as long does not end by itself, and
 * meanwhile a part of all new connections gets no answer.
 */
const looksWithoutBeatMax = 10;
/** Before a thread is started that could not even start the last time. */
const restartPauseMs = 1_000;
/** A scrape must not wait for a thread that hangs. */
const shareMsMax = 500;
/** To close its connections to the database, after its server. */
const closeMsMax = 3_000;

export interface ThreadsOptions {
  count: number;
  /** 0 takes any free port, which then is that of all. */
  port: number;
  guard: GuardOfThreads;
  log: Log;
  refusals(): Refusals;
}

export interface Threads {
  port: number;
  inProgress(): number;
  /** Why none of them answers; undefined when one does. */
  whyNotReady(): string | undefined;
  /** Tells them what `refusals` says now. */
  tellRefusals(): void;
  useCertificate(pair: TlsPair): void;
  shares(): Promise<ThreadShare[]>;
  drain(): void;
  /** @returns how many requests were cut after the time */
  close(graceMs: number): Promise<number>;
}

/** A thread, and its successors after its death. */
interface Seat {
  thread: number;
  worker: Worker;
  isReady: boolean;
  share: ThreadShare | undefined;
  beats: number;
  looksWithoutBeat: number;
}

/** @throws the error of a thread that cannot start */
export async function startThreads(options: ThreadsOptions): Promise<Threads> {
  const pool = new ThreadPool(options);
  await pool.start();
  return pool;
}

class ThreadPool implements Threads {
  port: number;
  readonly #options: ThreadsOptions;
  readonly #seats: Seat[] = [];
  readonly #data: Pick<ThreadData, "nonces" | "counts" | "vitals">;
  readonly #vitals: Int32Array;
  /** What threads that have ended counted. */
  #ended: ThreadShare = [];
  #pair: TlsPair | undefined;
  #isDraining = false;
  readonly #closing = new AbortController();
  #looking: NodeJS.Timeout | undefined;
  #asked = 0;

  constructor(options: ThreadsOptions) {
    this.#options = options;
    this.port = options.port;
    const vitals = allocateVitals(options.count);
    this.#vitals = new Int32Array(vitals);
    this.#data = { nonces: options.guard.memory, counts: allocateCounts(), vitals };
  }

  async start(): Promise<void> {
    try {
      const threads = Array.from({ length: this.#options.count }, (_, index) => index + 1);
      // The first one finds a free port for all.
      if (this.port === 0) await this.#takeSeat(threads.shift()!);
      await Promise.all(threads.map((thread) => this.#takeSeat(thread)));
    } catch (error) {
      this.#closing.abort();
      await Promise.all(this.#seats.map(({ worker }) => worker.terminate()));
      throw error;
    }
    this.#looking = setInterval(() => this.#look(), beatMs).unref();
  }

  inProgress(): number {
    return this.#seats.reduce((sum, { thread }) => sum + Atomics.load(this.#vitals, vitalAt(thread).inProgress), 0);
  }

  whyNotReady(): string | undefined {
    return this.#seats.some(({ isReady }) => isReady) ? undefined : "no thread answers requests";
  }

  tellRefusals(): void {
    this.#tellAll({ is: "refusals", refusals: this.#options.refusals() });
  }

  useCertificate(pair: TlsPair): void {
    this.#pair = pair;
    this.#tellAll({ is: "certificate", pair });
  }

  async shares(): Promise<ThreadShare[]> {
    await Promise.all(this.#seats.filter(({ isReady }) => isReady).map((seat) => this.#measure(seat)));
    return [this.#ended, ...this.#seats.flatMap(({ share }) => (share ? [share] : []))];
  }

  drain(): void {
    this.#isDraining = true;
    this.#tellAll({ is: "drain" });
  }

  async close(graceMs: number): Promise<number> {
    this.#closing.abort();
    clearInterval(this.#looking);
    const cuts = await Promise.all(this.#seats.map((seat) => closeSeat(seat, graceMs)));
    return cuts.reduce((sum, cut) => sum + cut, 0);
  }

  #tellAll(message: ToThread): void {
    for (const { worker } of this.#seats) tell(worker, message);
  }

  async #takeSeat(thread: number): Promise<void> {
    const seat: Seat = {
      thread,
      worker: this.#newWorker(thread),
      isReady: false,
      share: undefined,
      beats: 0,
      looksWithoutBeat: 0,
    };
    this.#seats.push(seat);
    await this.#follow(seat);
  }

  #newWorker(thread: number): Worker {
    const workerData: ThreadData = { thread, port: this.port, refusals: this.#options.refusals(), ...this.#data };
    return new Worker(new URL("./thread.ts", import.meta.url), { workerData, name: `api ${thread}` });
  }

  /** Resolves when the seat's worker is ready. From then on it is replaced when it ends. @throws the error with which it ends before */
  #follow(seat: Seat): Promise<void> {
    const { thread, worker } = seat;
    const { log } = this.#options;
    const ready = Promise.withResolvers<void>();
    let reason: unknown;
    worker.on("message", (message: FromThread) => {
      if (message.is !== "ready") return;
      this.port = message.port;
      seat.isReady = true;
      if (this.#pair) tell(worker, { is: "certificate", pair: this.#pair });
      if (this.#isDraining) tell(worker, { is: "drain" });
      ready.resolve();
    });
    worker.once("error", (error) => {
      reason = error;
    });
    worker.once("exit", (code) => {
      const wasReady = seat.isReady;
      seat.isReady = false;
      ready.reject(reason ?? new Error(`a thread of the api ended during its start, with code ${code}`));
      if (!wasReady || this.#closing.signal.aborted) return;
      log.error({ err: reason, thread, code }, "a thread of the api has ended, and is replaced");
      this.#replace(seat).catch(reportDefect);
    });
    return ready.promise;
  }

  async #replace(seat: Seat): Promise<void> {
    const { thread } = seat;
    const { guard, log } = this.#options;
    freeCountsThread(this.#data.counts, thread);
    Atomics.store(this.#vitals, vitalAt(thread).inProgress, 0);
    await Promise.all([guard.free(thread), this.#keepCounts(seat)]);
    while (!this.#closing.signal.aborted) {
      seat.worker = this.#newWorker(thread);
      seat.looksWithoutBeat = 0;
      try {
        await this.#follow(seat);
        log.info({ thread }, "another thread of the api has taken its place");
        return;
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        log.error({ err: error, thread }, "a thread of the api cannot start, and is started again");
        await guard.free(thread);
        await sleep(restartPauseMs, this.#closing.signal);
      }
    }
  }

  /** As of the last scrape. */
  async #keepCounts(seat: Seat): Promise<void> {
    const { share } = seat;
    seat.share = undefined;
    if (share) this.#ended = await countsOf([this.#ended, share]);
  }

  /** A thread that hangs is ended; then it is replaced as one that died. */
  #look(): void {
    for (const seat of this.#seats) {
      const beats = Atomics.load(this.#vitals, vitalAt(seat.thread).beats);
      seat.looksWithoutBeat = seat.isReady && beats === seat.beats ? seat.looksWithoutBeat + 1 : 0;
      seat.beats = beats;
      if (seat.looksWithoutBeat <= looksWithoutBeatMax) continue;
      seat.looksWithoutBeat = 0;
      this.#options.log.error({ thread: seat.thread }, "a thread of the api hangs, and is ended");
      seat.worker.terminate().catch(reportDefect);
    }
  }

  async #measure(seat: Seat): Promise<void> {
    const number = ++this.#asked;
    const { worker } = seat;
    const measured = Promise.withResolvers<void>();
    const take = (message: FromThread) => {
      if (message.is !== "measured" || message.number !== number) return;
      if (seat.worker === worker && seat.isReady) seat.share = message.share;
      measured.resolve();
    };
    worker.on("message", take);
    tell(worker, { is: "measure", number });
    await waitAtMost(shareMsMax, measured.promise);
    worker.off("message", take);
  }
}

const tell = (worker: Worker, message: ToThread) => worker.postMessage(message);

/** @returns how many requests were cut */
async function closeSeat({ worker, isReady }: Seat, graceMs: number): Promise<number> {
  const closed = Promise.withResolvers<void>();
  let cut = 0;
  worker.on("message", (message: FromThread) => {
    if (message.is !== "closed") return;
    cut = message.cut;
    closed.resolve();
  });
  worker.once("exit", () => closed.resolve());
  if (isReady) {
    tell(worker, { is: "close", graceMs });
    await waitAtMost(graceMs + closeMsMax, closed.promise);
  }
  await worker.terminate();
  return cut;
}
