/**
 * An upload is written to a file outside the served folders, its bytes are counted as they arrive, and it is moved into place
 * when it is complete. Until then, and after any failure, the old file stays.
 */
import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { findAt, type GuardedPath } from "#nodes/embedded/ftp/path-guard.ts";
import { FtpFailure, notAvailable } from "#nodes/embedded/ftp/reply.ts";
import type { FtpSession } from "#nodes/embedded/ftp/session.ts";
import type { Reservation } from "#nodes/embedded/quota.ts";

export interface Upload {
  /** @throws QuotaExceeded as soon as the account's space is used up */
  receive(data: Readable, signal: AbortSignal): Promise<void>;
  /** Moves the file into place. @throws QuotaExceeded, FtpFailure */
  commit(signal: AbortSignal): Promise<void>;
  /** Removes an upload that was not committed. Always call it at the end. */
  end(): Promise<void>;
}

/**
 * @param target a path that may be written
 * @throws FtpFailure 550, QuotaExceeded
 */
export async function beginUpload(session: FtpSession, target: GuardedPath): Promise<Upload> {
  const { home, quota, queue } = session.loggedIn;
  const { uploadsFolder, random, limits } = session.services;
  const findTarget = async () => {
    const found = await findAt(home, target);
    if (found !== undefined && !found.isFile()) throw notAvailable();
    return found;
  };
  // In the account's queue: otherwise a file that is deleted at this moment would be lent after its deletion.
  const reservation = await queue(async () => quota.reserve(target.virtual, await findTarget()));
  const path = join(uploadsFolder, random.bytes(16).toString("hex"));
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640).catch((error) => {
    reservation.release();
    throw error;
  });
  let isCommitted = false;
  return {
    receive: async (data, signal) => {
      await pipeline(data, countedFile(file, reservation, limits.uploadGatheredBytesMax), { signal });
    },
    commit: (signal) =>
      queue(async () => {
        if (signal.aborted) throw new FtpFailure(426, "Transfer aborted.");
        const replaced = await findTarget();
        reservation.check(replaced);
        await rename(path, target.real);
        isCommitted = true;
        reservation.commit(replaced);
      }),
    end: async () => {
      try {
        await file.close();
        if (!isCommitted) await unlink(path);
      } finally {
        reservation.release();
      }
    },
  };
}

/**
 * A stream of our own, so that the file is closed in one place whatever happens. Data that arrives during a write is batched
 * for the next one: TLS delivers pieces of 16 KiB, and each write is a round trip to another thread.
 */
function countedFile(file: FileHandle, reservation: Reservation, gatheredBytesMax: number): Writable {
  const write = async (chunks: Buffer[]) => {
    const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    reservation.take(length);
    const { bytesWritten } = await file.writev(chunks);
    // A write may be partial when the disk is nearly full: writing the rest fails, or succeeds.
    if (bytesWritten < length) await file.writeFile(Buffer.concat(chunks).subarray(bytesWritten));
    for (const chunk of chunks) free(chunk);
  };
  return new Writable({
    highWaterMark: gatheredBytesMax,
    write: (chunk: Buffer, _encoding, done) => {
      write([chunk]).then(() => done(), done);
    },
    writev: (chunks, done) => {
      write(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
    },
  });
}

/**
 * Frees a written chunk's memory at once, if nothing else shares it. Left to the garbage collector, 256 MB cost nine full
 * marks: buffers from sockets are outside its heap, and every 32 MB of them trigger a full collection.
 */
function free({ buffer, byteLength }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
