/**
 * `deedhouse start` as a user runs it: the real command in its own process, on a separate folder and free ports. The
 * test's teardown removes everything, whatever the test did.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import type { readyDocument } from "#start/report.ts";
import { type Client, createClient } from "../../client/sdk/client.ts";
import { quickFolder } from "./quick-folder.ts";
import { type Reply, type SignedRequestOptions, sendSigned } from "./signed-request.ts";

export const repository = fileURLToPath(new URL("../..", import.meta.url));
const entry = join(repository, "bin/deedhouse.ts");
const pollMs = 20;
/** Long enough for a busy machine; a test that waits this long has failed. */
const patienceMs = 60_000;

interface Scope {
  after(work: () => Promise<void>): void;
}
export type ReadyDocument = ReturnType<typeof readyDocument>;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface LaunchedTool {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Its output so far. */
  stdout(): string;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  uid?: number;
  input?: string;
}

export interface RunningSystem {
  folder: string;
  pid: number;
  readyFile: string;
  /** The current content of the ready file. */
  ready(): ReadyDocument;
  /** The command's output so far. */
  stdout(): string;
  /** Signs every call with the sandbox's key. */
  client: Client;
  /** Sends one signed request and returns the raw answer. */
  send(method: string, target: string, options?: SignedRequestOptions): Promise<Reply>;
  /** Runs the command-line tool against this system, as its reseller and its operator. */
  tool(args: string[], options?: RunOptions): Promise<Ended>;
  kill(signal: NodeJS.Signals): Promise<Ended>;
}

/** A folder that is removed after the test, with every process that uses it. */
export async function systemFolder(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-system-"));
  scope.after(async () => {
    for (const pid of processesOf(folder)) kill(pid);
    await eventually("its processes end", () => processesOf(folder).length === 0);
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Runs the tool, or a role, to its end. */
export function runTool(args: string[], options: RunOptions = {}): Promise<Ended> {
  return launchTool(args, options).ended;
}

/** Starts everything on a folder of `systemFolder` and returns when all of it is ready. */
export async function startSystem(
  folder: string,
  args: string[] = [],
  options: RunOptions = {},
): Promise<RunningSystem> {
  const readyFile = join(folder, "ready.json");
  const data = join(folder, "data");
  // A killed system has left its file behind.
  await rm(readyFile, { force: true });
  const where = ["--data", data, "--port-base", "0", "--ready-file", readyFile];
  const { child, ended, stdout } = launchTool(["start", ...where, ...args], options);
  const ready = () => JSON.parse(readFileSync(readyFile, "utf8")) as ReadyDocument;
  const isReady = () => {
    try {
      return ready() !== undefined;
    } catch {
      return false;
    }
  };
  const failure = ended.then(({ stderr }) => {
    throw new Error(`deedhouse start ended: ${stderr}`);
  });
  failure.catch(() => {});
  await Promise.race([failure, eventually("everything answers", isReady)]);
  const { url, api_key: apiKey, api_secret: apiSecret } = ready();
  return {
    folder,
    pid: child.pid!,
    readyFile,
    ready,
    stdout,
    client: createClient({ url, apiKey, apiSecret }),
    send: (method, target, sent) => {
      const key = { id: apiKey, secret: new Secret(apiSecret) };
      return sendSigned({ url, key, clock: systemClock, method, target, ...sent });
    },
    tool: (toolArgs, { env, ...rest } = {}) => {
      const reseller = { DEEDHOUSE_URL: url, DEEDHOUSE_API_KEY: apiKey, DEEDHOUSE_API_SECRET: apiSecret };
      return runTool(toolArgs, { env: { ...process.env, ...reseller, ...env }, ...rest });
    },
    kill(signal) {
      child.kill(signal);
      return ended;
    },
  };
}

/** The processes that use the folder: it appears in their arguments or environment, or is their working directory. */
export function processesOf(folder: string): number[] {
  const attributes = [
    (pid: string) => readFileSync(`/proc/${pid}/cmdline`, "utf8"),
    (pid: string) => readFileSync(`/proc/${pid}/environ`, "utf8"),
    (pid: string) => readlinkSync(`/proc/${pid}/cwd`),
  ];
  const names = (attribute: (pid: string) => string, pid: string) => {
    try {
      return attribute(pid).includes(folder);
    } catch {
      return false;
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid);
  return pids.filter((pid) => attributes.some((attribute) => names(attribute, pid))).map(Number);
}

/** A process that has just ended on its own is fine. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Waits until the condition is true. @throws after a long time, with the condition's name */
export async function eventually(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`timed out waiting until ${what}`);
    await sleep(pollMs);
  }
}

/** Starts the tool, or a role, and leaves it running. */
export function launchTool(args: string[], { env = process.env, uid, input }: RunOptions = {}): LaunchedTool {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: repository,
    env,
    stdio: ["pipe", "pipe", "pipe"],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, "close").then(([code, signal]): Ended => ({ code, signal, ...output }));
  return { child, ended, stdout: () => output.stdout };
}
