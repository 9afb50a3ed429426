/**
 * An upload: written to a file that nobody serves, its bytes counted as they arrive, moved to its place when it is
 * complete. Until then, and whenever anything goes wrong, what was at its place stays.
 */
import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Reservation } from "../quota.ts";
import { findAt, type GuardedPath } from "./path-guard.ts";
import { FtpFailure, notAvailable } from "./reply.ts";
import type { FtpSession } from "./session.ts";

export interface Upload {
  /** @throws QuotaExceeded as soon as the account's space is used up */
  receive(data: Readable, signal: AbortSignal): Promise<void>;
  /** Moves the file to its place. @throws QuotaExceeded, FtpFailure */
  commit(signal: AbortSignal): Promise<void>;
  /** Removes what was not committed. Call it at the end in any case. */
  end(): Promise<void>;
}

/**
 * @param target a path that may be written
 * @throws FtpFailure 550, QuotaExceeded
 */
export async function beginUpload(session: FtpSession, target: GuardedPath): Promise<Upload> {
  const { home, quota, lane } = session.loggedIn;
  const { uploadsFolder, random } = session.services;
  const findTarget = async () => {
    const found = await findAt(home, target);
    if (found !== undefined && !found.isFile()) throw notAvailable();
    return found;
  };
  await checkFolder(home, target);
  const reservation = quota.reserve(target.virtual, await findTarget());
  const path = join(uploadsFolder, random.bytes(16).toString("hex"));
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o640).catch((error) => {
    reservation.release();
    throw error;
  });
  let isCommitted = false;
  return {
    receive: async (data, signal) => {
      await pipeline(data, countedFile(file, reservation), { signal });
    },
    commit: (signal) =>
      lane(async () => {
        if (signal.aborted) throw new FtpFailure(426, "Transfer aborted.");
        const replaced = await findTarget();
        reservation.check(replaced);
        await rename(path, target.real);
        isCommitted = true;
        reservation.commit(replaced);
      }),
    end: async () => {
      reservation.release();
      await file.close();
      if (!isCommitted) await unlink(path);
    },
  };
}

/** The folder must be there before any byte is sent. @throws FtpFailure 550 */
async function checkFolder(home: string, target: GuardedPath): Promise<void> {
  const folder = { virtual: join(target.virtual, ".."), real: join(target.real, "..") };
  if (!(await findAt(home, folder))?.isDirectory()) throw notAvailable();
}

/** Not a stream of the file's own: the file is closed in one place, whatever happened before. */
function countedFile(file: FileHandle, reservation: Reservation): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      try {
        reservation.take(chunk.length);
        file.writeFile(chunk).then(() => done(), done);
      } catch (error) {
        done(error as Error);
      }
    },
  });
}
