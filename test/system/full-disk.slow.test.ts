/** Disks that fill up under load, with the real processes: each folder alone, and everything at once. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { sleep, systemClock, unixSeconds } from "#lib/clock.ts";
import { eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import { newNonce, type SignedRequestOptions } from "../harness/signed-request.ts";
import { cannotMount, smallDisk } from "../harness/small-disk.ts";
import { runSql } from "../harness/sql.ts";

const options = { skip: cannotMount };
const megabyte = 1024 * 1024;
/** This many served requests mean that the system works. */
const served = 4;
const refusedMin = 20;
/** The registry may be unable to say whether a name is free. */
const truthful = [
  "GET 200",
  "GET 503 service_unavailable",
  "POST 202",
  "POST 503 service_unavailable",
  "POST 400 domain_availability_lookuperror",
];
const betweenMs = 50;

/** A client that orders one name after another and reads its list, repeating each request until it is served. */
function startClient(system: RunningSystem) {
  const stopped = new AbortController();
  const statuses = new Map<string, number>();
  /** The names whose orders were acknowledged. */
  const accepted: string[] = [];
  let served = 0;

  async function sendUntilServed(method: string, target: string, request: SignedRequestOptions) {
    const identical = { ...request, nonce: newNonce(), timestamp: unixSeconds(systemClock) };
    while (!stopped.signal.aborted) {
      const reply = await system.send(method, target, identical).catch(() => undefined);
      const error_code = (reply?.body as { error_code?: string } | undefined)?.error_code;
      const status = [method, reply?.status ?? "unanswered", error_code ?? []].flat().join(" ");
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await sleep(betweenMs);
      if (!reply || reply.status >= 500) continue;
      served++;
      return reply.status;
    }
    return undefined;
  }

  async function run(): Promise<void> {
    for (let number = 0; !stopped.signal.aborted; number++) {
      const name = `full-${number}.example`;
      const answer = await sendUntilServed("POST", "/domains/registrations", { body: { domain_name: name } });
      if (answer === 202) accepted.push(name);
      await sendUntilServed("GET", "/domains", {});
    }
  }
  const running = run();
  return {
    /** How often each answer was given, as "POST 202". */
    statuses,
    accepted,
    served: () => served,
    async stop() {
      stopped.abort();
      await running;
    },
  };
}

/** Whether many requests were refused while the disk was full. */
const isRefused = ({ statuses }: Client) =>
  [...statuses].some(([answer, times]) => answer.includes(" 503 ") && times > refusedMin);
type Client = ReturnType<typeof startClient>;

interface Filling {
  /** The folders that are on the disk, from the system's. */
  where: string[];
  bytes: number;
  /** Whether it is full for long enough. */
  isEnough(system: RunningSystem, client: Client): boolean | Promise<boolean>;
}

/** Fills a disk while a client is running, and frees the space again. */
async function fillUnderLoad(t: TestContext, { where, bytes, isEnough }: Filling) {
  const folder = await systemFolder(t);
  const disk = smallDisk(t, bytes);
  for (const name of where) {
    const [link, target] = [join(folder, name), join(disk.folder, basename(name))];
    mkdirSync(target, { mode: 0o700 });
    mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
    symlinkSync(target, link);
  }
  const env = { ...process.env, DEEDHOUSE_LOG_LEVEL: "trace" };
  const system = await startSystem(folder, ["--rate-limit", "1000000"], { env });
  const client = startClient(system);
  await eventually("requests are served", () => client.served() > served);
  // Refusals of a busy machine during startup say nothing about disks.
  client.statuses.clear();
  disk.fill();
  await eventually("the full disk shows", () => isEnough(system, client));
  disk.free();
  const before = client.served();
  const freedMs = systemClock.monotonicMs();
  await eventually("requests are served again", () => client.served() > before + served);
  t.diagnostic(`all is served ${Math.round(systemClock.monotonicMs() - freedMs)} ms after there was room again`);
  t.diagnostic([...client.statuses].map(([answer, times]) => `${times} × ${answer}`).join(", "));
  await client.stop();
  return { system, client };
}

/** Checks that answers were true, and that acknowledged writes are carried out exactly once. */
async function assertWhole({ system, client }: Awaited<ReturnType<typeof fillUnderLoad>>): Promise<void> {
  const answers = [...client.statuses.keys()];
  assert.deepEqual(
    answers.filter((answer) => !truthful.includes(answer)),
    [],
  );
  const { database_url } = system.ready();
  await eventually("every order is finished", async () => {
    const [left] = await runSql(database_url, "SELECT FROM orders WHERE status <> 'Finished'");
    return left === undefined;
  });
  const rows = await runSql<{ domain_name: string }>(database_url, "SELECT domain_name FROM orders");
  const names = rows.map(({ domain_name }) => domain_name);
  assert.deepEqual(
    client.accepted.filter((name) => !names.includes(name)),
    [],
  );
  assert.equal(new Set(names).size, names.length);
}

test(
  "while the disk of the logs is full, everything is served, and the logs tell how many lines were dropped",
  options,
  async (t) => {
    const filled = await fillUnderLoad(t, {
      where: ["data/logs"],
      bytes: 8 * megabyte,
      isEnough: (_, client) => client.served() > 10 * served,
    });
    await assertWhole(filled);
    assert.deepEqual([...filled.client.statuses.keys()].toSorted(), ["GET 200", "POST 202"]);
    const log = join(filled.system.folder, "data/logs/worker.log");
    await eventually("the worker's log goes on", () => /"dropped":[1-9]/.test(readFileSync(log, "utf8")));
  },
);

test(
  "while the disk of the replay folder and logs is full, nothing is done and nothing is lost",
  options,
  async (t) => {
    const isEnough = (_: RunningSystem, client: Client) => isRefused(client);
    await assertWhole(await fillUnderLoad(t, { where: ["data/replay", "data/logs"], bytes: 8 * megabyte, isEnough }));
  },
);

test(
  "while the disk of everything is full, PostgreSQL's folder too, nothing that was acknowledged is lost",
  options,
  async (t) => {
    const isEnough = async (system: RunningSystem, client: Client) => {
      // PostgreSQL ends when it cannot create its next log file.
      await runSql(system.ready().database_url, "SELECT pg_switch_wal()").catch(() => {});
      return isRefused(client) && /^postgres ended and is restarted$/m.test(system.stdout());
    };
    await assertWhole(await fillUnderLoad(t, { where: ["data"], bytes: 384 * megabyte, isEnough }));
  },
);
