/** One attack on a system of its own: first a control with every core busy, then the attack, with one victim beside both. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startNameServer } from "../harness/name-server.ts";
import { eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import type { Attack, AttackerKey } from "./attack.ts";
import { uploadPage } from "./upload-page.ts";
import type { Measured } from "./victim.ts";
import { silentNames, site, victimHost, victimName } from "./victims.ts";

const sampleMs = 200;
/** The attack stands at its full size before the victim is measured. */
const headStartMs = 3_000;
const requestsPerMinuteMax = 1_000_000_000;

export interface Part {
  turnsCount: number;
  medianMs: number;
  p99Ms: number;
  failures: string[];
}

export interface Result {
  attack: Attack;
  control: Part;
  attacked: Part;
  /** Of all our processes but PostgreSQL and the sandbox registry, together. */
  memoryBeforeMb: number;
  memoryHighestMb: number;
}

/** @param lengthMs of the control, and of the attack */
export async function play(attack: Attack, lengthMs: number): Promise<Result> {
  const cleanups: (() => Promise<void>)[] = [];
  try {
    const folder = await systemFolder({ after: (work) => cleanups.push(work) });
    const names = await startNameServer();
    cleanups.push(() => names.close());
    names.silentAbout = silentNames;
    names.addresses.set(victimHost, ["127.0.0.1"]);
    const env = { ...process.env, DEEDHOUSE_DNS_SERVERS: names.address };
    const system = await startSystem(folder, ["--rate-limit", String(requestsPerMinuteMax)], { env });
    await makeSite(system);
    await makeName(system);
    const accounts = await makeAccounts(system, attack.accountsCount ?? 0);
    const measure = () => runVictim(attack, system, lengthMs);
    await runVictim(attack, system, lengthMs / 4);
    const control = await besides(
      Array.from({ length: availableParallelism() }, () => start("burner.ts", [])),
      measure,
    );
    const memory = watchMemory(system);
    const attacker = start("attacker.ts", [attack.name, system.readyFile, JSON.stringify(accounts)]);
    const attacked = await besides([attacker], async () => {
      await once(attacker, "message");
      await new Promise((resolve) => setTimeout(resolve, headStartMs));
      return measure();
    });
    return { attack, control: partOf(control), attacked: partOf(attacked), ...memory.stop() };
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

/** Runs `work` beside processes that are ended after it. */
async function besides<T>(others: ChildProcess[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    for (const other of others) other.kill("SIGKILL");
  }
}

function start(file: string, args: string[]): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), args);
}

async function runVictim(attack: Attack, system: RunningSystem, lengthMs: number): Promise<Measured> {
  const victim = start("victim.ts", [attack.victim, system.readyFile, String(lengthMs)]);
  const ended = once(victim, "exit").then(([code]) => {
    throw new Error(`the victim ended with ${code} before it said what it has measured`);
  });
  const [measured] = (await Promise.race([once(victim, "message"), ended])) as [Measured];
  return measured;
}

function partOf({ latenciesMs, failures }: Measured): Part {
  const sorted = latenciesMs.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { turnsCount: sorted.length, medianMs: at(0.5), p99Ms: at(0.99), failures };
}

async function makeAccounts(system: RunningSystem, count: number): Promise<AttackerKey[]> {
  const accounts: AttackerKey[] = [];
  const operate = async (...args: string[]) => {
    const { code, stdout, stderr } = await system.tool([...args, "--json", "--data", join(system.folder, "data")]);
    if (code !== 0) throw new Error(`deedhouse ${args.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  };
  for (let index = 0; index < count; index++) {
    const name = `attacker-${index}`;
    await operate("account", "create", name, "--rate-limit", String(requestsPerMinuteMax));
    accounts.push(await operate("key", "create", "--account", name));
  }
  return accounts;
}

async function makeSite(system: RunningSystem): Promise<void> {
  const body = { identifier: site.identifier, servicepack_id: "14490", password: site.password };
  const answer = await system.send("POST", "/hostingaccounts", { body });
  if (answer.status !== 202) throw new Error(`the victim's account was answered with ${answer.status}: ${answer.text}`);
  await eventually("the victim's account is ready", async () => {
    const { body: account } = await system.send("GET", `/hostingaccounts/${site.identifier}`);
    return (account as { status?: string }).status === "Ready";
  });
  await uploadPage(system.ready().ftp, site);
}

async function makeName(system: RunningSystem): Promise<void> {
  const ordered = await system.send("POST", "/domains/registrations", { body: { domain_name: victimName } });
  if (ordered.status !== 202) throw new Error(`the victim's name was answered with ${ordered.status}: ${ordered.text}`);
  await eventually("the victim's name is registered", async () => {
    return (await system.send("GET", `/domains/${victimName}`)).status === 200;
  });
}

/** Samples the memory of the processes that are attacked, until it is stopped. */
function watchMemory(system: RunningSystem) {
  const names = ["api", "worker", "node"];
  const readMb = () => {
    const { pids } = system.ready();
    return names.reduce((sum, name) => sum + residentMb(pids[name]), 0);
  };
  const memoryBeforeMb = readMb();
  let memoryHighestMb = memoryBeforeMb;
  const timer = setInterval(() => {
    memoryHighestMb = Math.max(memoryHighestMb, readMb());
  }, sampleMs);
  return {
    stop() {
      clearInterval(timer);
      return { memoryBeforeMb, memoryHighestMb };
    },
  };
}

/** proc_pid_status(5); nothing for a process that has just ended. */
function residentMb(pid: number | undefined): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
