/** Workers of a registry: one owns it, the others wait for its lock. */
import { lockConnectionName } from "#jobs/registry-succession.ts";
import { eventually } from "../harness/running-system.ts";
import { countSessions } from "../harness/sql.ts";
import type { WorkerProcess, Workers } from "../orders/worker-process.ts";
import type { Stage } from "./stage.ts";

export interface Crew {
  owner(): Promise<WorkerProcess>;
  /**
   * Whether a successor waits, so that a kill need not wait for a process to start.
   * @throws Error when a worker could not be hired
   */
  isReady(): boolean;
  /** Kills the owner; resolves when the next one owns the registry. */
  killOwner(): Promise<void>;
  /** Stops hiring. The present workers end with their scope. */
  close(): Promise<void>;
}

/** Attempts to start a worker while the database is too busy. */
const startsMax = 5;

/** @param waiting the number of successors that wait, so that a kill need not wait for a process to start */
export async function startCrew(workers: Workers, query: Stage["query"], waiting: number): Promise<Crew> {
  const { gateway } = workers;
  const connectionName = lockConnectionName(gateway.context.registries[0]!.id);
  /** The owner of the registry, and the workers that wait for it. */
  const members: WorkerProcess[] = [];
  let aliveCount = 0;
  let isClosed = false;
  let failure: unknown;
  let hiring: Promise<unknown> = Promise.resolve();

  // One after the other, so that the machine has to start one at a time.
  function hire(): void {
    hiring = hiring.then(async () => {
      if (isClosed) throw new Error("the crew is closed");
      const worker = await startPatiently(workers);
      aliveCount += 1;
      await eventually("the worker owns the registry, or waits for it", async () => {
        return (await countSessions(gateway.databaseUrl, connectionName)) === aliveCount;
      });
      members.push(worker);
    });
    hiring.catch((error: unknown) => {
      failure ??= error;
    });
  }

  /** Not always the longest-serving one: an owner that the registry does not answer yields to one that it greets. */
  async function findOwner(): Promise<WorkerProcess | undefined> {
    const [lease] = await query<{ holder: string }>("SELECT holder FROM registry_leases");
    return members.find(({ pid }) => lease?.holder.startsWith(`process ${pid} on `));
  }

  async function awaitOwner(): Promise<WorkerProcess> {
    let owner: WorkerProcess | undefined;
    await eventually("a worker owns the registry", async () => {
      owner = await findOwner();
      return owner !== undefined;
    });
    return owner!;
  }

  for (let count = 0; count <= waiting; count++) hire();
  await awaitOwner();
  return {
    owner: awaitOwner,
    isReady() {
      if (failure !== undefined) throw failure;
      return members.length > 1;
    },
    async killOwner() {
      const owner = await awaitOwner();
      await owner.kill();
      aliveCount -= 1;
      members.splice(members.indexOf(owner), 1);
      hire();
      await awaitOwner();
    },
    async close() {
      isClosed = true;
      await hiring.catch(() => {});
    },
  };
}

/** Starts a worker again when it could not start, like a supervisor. */
async function startPatiently(workers: Workers): Promise<WorkerProcess> {
  for (let left = startsMax - 1; ; left--) {
    try {
      return await workers.start();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
