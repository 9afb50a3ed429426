/** The real system, started by its own command: separate processes, real sockets, files on disk, fsync on. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import type { Scope } from "../test/harness/database.ts";
import { type ReadyDocument, startSystem } from "../test/harness/running-system.ts";
import { createSignedClient, type SignedClient } from "./signed-client.ts";

const requestsPerMinuteMax = 1_000_000_000;

export interface System {
  ready: ReadyDocument;
  client: SignedClient;
}

/** Starts the system, runs `work`, then stops the system and removes its files. */
export async function withSystem(work: (system: System) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-bench-"));
  try {
    const running = await startSystem(folder, ["--rate-limit", String(requestsPerMinuteMax)]);
    const ready = running.ready();
    const client = createSignedClient({ url: ready.url, key: ready.api_key, secret: ready.api_secret });
    try {
      await work({ ready, client });
    } finally {
      client.close();
      await running.kill("SIGINT");
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs `work` with a connection to the system's database, for what the API does not show. */
export async function withDatabase<Result>(
  { ready }: System,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: ready.database_url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The scope of a test, whose hooks run in the reverse order. */
export async function withScope(work: (scope: Scope) => Promise<void>): Promise<void> {
  const hooks: (() => unknown)[] = [];
  try {
    await work({ after: (hook) => void hooks.push(hook) });
  } finally {
    for (const hook of hooks.reverse()) await hook();
  }
}
