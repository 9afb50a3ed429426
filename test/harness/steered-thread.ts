/** Imported by an api process before anything else: lets a test end one of its threads, block its event loop, or see that it lives. */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, workerData } from "node:worker_threads";

const lookMs = 10;
const folder = process.env.DEEDHOUSE_TEST_THREADS_FOLDER;
const thread = (workerData as { thread?: number } | null)?.thread;

if (!isMainThread && folder !== undefined && thread !== undefined) {
  const isTold = (what: string) => {
    const file = join(folder, `${what}-${thread}`);
    if (!existsSync(file)) return false;
    rmSync(file);
    return true;
  };
  setInterval(() => {
    isTold("live");
    if (isTold("end")) process.exit(1);
    if (isTold("hang")) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  }, lookMs).unref();
}
