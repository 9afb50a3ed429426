import { writeSync } from "node:fs";
import { isMainThread, threadId } from "node:worker_threads";
import { pino } from "pino";
import { systemClock } from "#lib/clock.ts";

export type Log = pino.Logger;

/** Fields that could carry a credential: any value under these names is logged as [secret]. */
const secretFields = ["password", "secret", "authorization", "authInfo", "signature", "api_secret"];

/** How long a line waits for the reader of our pipe. */
const pipeWaitMs = 100;
const pipePauseMs = 5;

const standardError = 2;

/**
 * A logger that writes JSON lines to standard error, synchronously, so that the last line before a crash is not lost. A
 * line that cannot be written, as on a full disk, is dropped, and the next line reports how many were dropped.
 * @param name the process's role, e.g. "api"
 */
export function createLog(name: string, level: string, fd = standardError): Log {
  return pino(
    {
      name,
      level,
      base: { role: name, ...(!isMainThread && { thread: threadId }) },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: "[secret]" },
    },
    createLineWriter(fd, (dropped) => {
      const time = systemClock.now().getTime();
      return JSON.stringify({ level: pino.levels.values.warn, time, role: name, name, dropped, msg: droppedMessage });
    }),
  );
}

/** The log of one request: each line has its id. Most requests say nothing, and a child of pino costs a hundredth of a read. */
export function logOfRequest(log: Log, requestId: string): Log {
  let own: Log | undefined;
  return new Proxy(log, {
    get(_, property) {
      own ??= log.child({ requestId });
      return Reflect.get(own, property);
    },
  });
}

const droppedMessage = "log lines were dropped: they could not be written";

/** @param dropNotice makes the line that reports the number of dropped lines */
function createLineWriter(fd: number, dropNotice: (dropped: number) => string): { write(line: string): void } {
  let dropped = 0;
  /** The file ends in half a line: the next line must not be appended to it. */
  let isTorn = false;

  function write(text: string): void {
    const bytes = Buffer.from(isTorn ? `\n${text}` : text);
    const waitMs = dropped === 0 ? pipeWaitMs : 0;
    for (let written = 0; written < bytes.length; ) {
      written += writeOrWait(fd, bytes.subarray(written), waitMs);
      isTorn = written < bytes.length;
    }
  }

  return {
    write(line) {
      try {
        write(dropped === 0 ? line : `${dropNotice(dropped)}\n${line}`);
        dropped = 0;
      } catch {
        // Logging must never stop the caller's work.
        dropped++;
      }
    },
  };
}

/** A pipe that is full for a moment is worth waiting for; a pipe without a reader is not. */
function writeOrWait(fd: number, bytes: Buffer, waitMs: number): number {
  const deadlineMs = systemClock.monotonicMs() + waitMs;
  for (;;) {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || systemClock.monotonicMs() >= deadlineMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pipePauseMs);
    }
  }
}
