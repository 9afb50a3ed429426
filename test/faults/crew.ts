/** Workers in a row: one owns the registry, the next ones wait for its lock in the order in which they were hired. */
import { ownerLockClass } from "#jobs/owner-lock.ts";
import { eventually } from "../harness/running-system.ts";
import type { WorkerProcess, Workers } from "../orders/worker-process.ts";
import type { Stage } from "./stage.ts";

export interface Crew {
  owner(): Promise<WorkerProcess>;
  /**
   * Whether somebody waits behind the owner: then a kill comes at once.
   * @throws when somebody could not be hired: nobody will wait any more
   */
  isReady(): boolean;
  /** Kills the owner; resolves when the next one owns the registry. */
  killOwner(): Promise<void>;
  /** Hires nobody any more. Those who are there end with their scope. */
  close(): Promise<void>;
}

/** Of a worker that finds the database too busy to begin. */
const startsMax = 5;

const locksSql = `SELECT pid, granted FROM pg_locks WHERE locktype = 'advisory' AND classid = ${ownerLockClass}
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;

/** @param waiting how many wait behind the owner, so that a kill need not wait for a process to start */
export async function startCrew(workers: Workers, query: Stage["query"], waiting: number): Promise<Crew> {
  const members: Promise<WorkerProcess>[] = [];
  let alive = 0;
  let lined = 0;
  let isClosed = false;
  let failure: unknown;
  let hiring: Promise<unknown> = Promise.resolve();

  const locks = () => query<{ pid: number; granted: boolean }>(locksSql);
  const ownerPid = async () => (await locks()).find(({ granted }) => granted)?.pid;

  // One after the other: PostgreSQL gives the lock to whoever has asked for it first.
  function hire(): void {
    const hired = hiring.then(async () => {
      if (isClosed) throw new Error("nobody is hired any more");
      const worker = await startPatiently(workers);
      alive += 1;
      await eventually("the worker owns the registry, or waits for it", async () => (await locks()).length === alive);
      lined += 1;
      return worker;
    });
    hired.catch((error: unknown) => {
      failure ??= error;
    });
    hiring = hired;
    members.push(hired);
  }

  for (let count = 0; count <= waiting; count++) hire();
  await members[0];
  return {
    owner: () => members[0]!,
    isReady() {
      if (failure !== undefined) throw failure;
      return lined > 1;
    },
    async killOwner() {
      const [owner, next] = await Promise.all(members.slice(0, 2));
      const dead = await ownerPid();
      await owner!.kill();
      alive -= 1;
      lined -= 1;
      members.shift();
      hire();
      await next;
      await eventually("the next worker owns the registry", async () => ![undefined, dead].includes(await ownerPid()));
    },
    async close() {
      isClosed = true;
      await hiring.catch(() => {});
    },
  };
}

/** Whatever supervises a worker starts it again when it could not begin. */
async function startPatiently(workers: Workers): Promise<WorkerProcess> {
  for (let left = startsMax - 1; ; left--) {
    try {
      return await workers.start();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
