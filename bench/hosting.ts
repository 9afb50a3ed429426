/**
 * Hosting accounts from the POST to `Ready`, which follows a probe by FTP and HTTP, and to a customer's first upload; and accounts
 * per second. The embedded node and one of ProFTPD and nginx with its agent, in turns on one system. Then the cost of a change
 * on a node with many accounts, and the speed of uploads.
 */

import { systemClock } from "#lib/clock.ts";
import { upload } from "../test/harness/site.ts";
import { cannotRun, password, startWholeWay, type WholeWay } from "../test/hosting-node/stage.ts";
import { benchHostingChannel } from "./hosting-channel.ts";
import { benchHostingUpload } from "./hosting-upload.ts";
import { createSignedClient, type SignedClient } from "./signed-client.ts";
import { printTable, summaryCells } from "./statistics.ts";

const accountsCount = 60;
const warmupAccountsCount = 8;
const waitSeconds = 10;
const looksMax = 6;
const manyCount = 300;
const manyAtOnce = 20;

/** A kind of node, and the service pack whose accounts it gets. */
interface Kind {
  name: string;
  packId: string;
  ftp: { host: string; port: number };
}

interface Created {
  /** From the POST to the 202. */
  postMs: number;
  /** From the POST to the status answer with Ready. */
  readyMs: number;
}

export async function benchHosting(): Promise<void> {
  if (cannotRun) throw new Error(`nodes of both kinds cannot be compared here: ${cannotRun}`);
  const closers: (() => unknown)[] = [];
  try {
    const way = await startWholeWay({ after: (hook) => void closers.push(hook) });
    await way.startAgent();
    await measureSystem(way);
  } finally {
    for (const close of closers.reverse()) await close();
  }
  heading("A change that a worker wants, until the node's agent has acknowledged it");
  await benchHostingChannel();
  heading("Uploads");
  await benchHostingUpload();
}

async function measureSystem({ system, machine, packId }: WholeWay): Promise<void> {
  const { url, api_key: key, api_secret: secret, ftp } = system.ready();
  const client = createSignedClient({ url, key, secret });
  try {
    const packs = (await client.send("GET", "/servicepacks")).body as { id: string; name: string }[];
    // Any node may get it, and the embedded one has the most room.
    const anywhere = packs.find(({ name }) => name === "Small")?.id ?? "";
    const kinds: Kind[] = [
      { name: "embedded", packId: anywhere, ftp },
      { name: "ProFTPD and nginx", packId, ftp: machine.ftp },
    ];
    heading("One account after another");
    await measureOneByOne(client, kinds);
    heading(`${manyCount} accounts, ${manyAtOnce} at once`);
    await measureMany(client, kinds);
  } finally {
    client.close();
  }
}

async function measureOneByOne(client: SignedClient, kinds: Kind[]): Promise<void> {
  const created = kinds.map((): (Created & { uploadedMs: number })[] => []);
  for (let index = -warmupAccountsCount; index < accountsCount; index++) {
    for (const [place, kind] of kinds.entries()) {
      const startedMs = systemClock.monotonicMs();
      const identifier = `account-${place}-${index + warmupAccountsCount}.example`;
      const account = await createAccount(client, kind, identifier);
      await upload(kind.ftp, identifier, password, "/www/index.html", "hello");
      const uploadedMs = systemClock.monotonicMs() - startedMs;
      if (index >= 0) created[place]?.push({ ...account, uploadedMs });
    }
  }
  const rows = kinds.flatMap(({ name }, place) => {
    const samples = created[place] ?? [];
    return [
      [`${name}: POST -> 202`, ...summaryCells(samples.map(({ postMs }) => postMs))],
      [`${name}: POST -> Ready`, ...summaryCells(samples.map(({ readyMs }) => readyMs))],
      [`${name}: POST -> first upload`, ...summaryCells(samples.map(({ uploadedMs }) => uploadedMs))],
    ];
  });
  printTable(["milliseconds", "median", "p95", "min", "max"], rows);
}

async function measureMany(client: SignedClient, kinds: Kind[]): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const [place, kind] of kinds.entries()) {
    const startedMs = systemClock.monotonicMs();
    const createSeveral = async (_: unknown, lane: number) => {
      for (let made = 0; made < manyCount / manyAtOnce; made++) {
        await createAccount(client, kind, `many-${place}-${lane}-${made}.example`);
      }
    };
    await Promise.all(Array.from({ length: manyAtOnce }, createSeveral));
    rows.push([kind.name, (manyCount * 1_000) / (systemClock.monotonicMs() - startedMs)]);
  }
  printTable(["accounts a second, POST to Ready", "rate"], rows);
}

async function createAccount(client: SignedClient, { packId, name, ftp }: Kind, identifier: string): Promise<Created> {
  const body = { servicepack_id: packId, identifier, password };
  const startedMs = systemClock.monotonicMs();
  const accepted = await client.send("POST", "/hostingaccounts", { body });
  const location = accepted.headers.location;
  if (accepted.status !== 202 || !location) throw new Error(`${identifier} was answered with ${accepted.status}`);
  const { status, ftp: place, receivedMs } = await readSettled(client, location);
  if (status !== "Ready" || place.port !== ftp.port) throw new Error(`${identifier} is ${status}, and not on ${name}`);
  return { postMs: accepted.receivedMs - startedMs, readyMs: receivedMs - startedMs };
}

/** Reads the account once it is settled, or after a minute. */
async function readSettled(client: SignedClient, location: string) {
  for (let looks = 1; ; looks++) {
    const { body, receivedMs } = await client.send("GET", location, { waitSeconds });
    const account = body as { status: string; ftp: { port: number } };
    if (account.status !== "Provisioning" || looks === looksMax) return { ...account, receivedMs };
  }
}

function heading(what: string): void {
  process.stdout.write(`\n${what}\n\n`);
}
