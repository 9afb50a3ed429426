import { writeSync } from "node:fs";
import { pino } from "pino";
import { systemClock } from "#lib/clock.ts";

export type Log = pino.Logger;

/** Fields that could carry a credential: whatever is logged under these names prints as [secret]. */
const secretFields = ["password", "secret", "authorization", "authInfo", "signature", "api_secret"];

/** How long a line waits for whoever reads our pipe. */
const pipeWaitMs = 100;
const pipePauseMs = 5;

const standardError = 2;

/**
 * A logger that writes JSON lines to standard error (synchronously, so that the last line before a crash is not lost). A
 * line that can't be written, as on a full disk, is dropped, and the next one that can be tells how many were.
 * @param name the process's role, e.g. "api"
 */
export function createLog(name: string, level: string, fd = standardError): Log {
  return pino(
    {
      name,
      level,
      base: { role: name },
      redact: { paths: secretFields.flatMap((field) => [field, `*.${field}`]), censor: "[secret]" },
    },
    createLineWriter(fd, (dropped) => {
      const time = systemClock.now().getTime();
      return JSON.stringify({ level: pino.levels.values.warn, time, role: name, name, dropped, msg: droppedMessage });
    }),
  );
}

const droppedMessage = "log lines were dropped: they could not be written";

/** @param tell makes the line that says how many were dropped before it */
function createLineWriter(fd: number, tell: (dropped: number) => string): { write(line: string): void } {
  let dropped = 0;
  /** Half a line stands at the end: the next one must not be glued to it. */
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
        write(dropped === 0 ? line : `${tell(dropped)}\n${line}`);
        dropped = 0;
      } catch {
        // Whoever logs has more important things to do.
        dropped++;
      }
    },
  };
}

/** A pipe that is full for a moment is no reason to drop a line; one that nobody reads any more is. */
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
