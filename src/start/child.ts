/**
 * Keeps one of our processes alive: after it dies, it is restarted with the arguments of its last start. A process that
 * fails its first start is not restarted, because the operator must fix the cause.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sleep } from "#lib/clock.ts";

const entry = fileURLToPath(new URL("../../bin/deedhouse.ts", import.meta.url));
const readyBudgetMs = 60_000;
/** Longer than a role gives itself (src/role.ts). */
const stopBudgetMs = 32_000;
const restartDelayMs = 500;
const restartDelayMsMax = 3_000;

export interface ChildOptions {
  name: string;
  /** Arguments after the entry point. Read at each start, because ports are known only after the first one. */
  args: () => string[];
  environment: () => NodeJS.ProcessEnv;
  /** Flags of Node itself. */
  nodeFlags: readonly string[];
  logFile: string;
  /** Called each time that the process is ready: at the first start, and after each restart. */
  onReady: (ready: Record<string, unknown>) => void;
  /** Called with one sentence when the process has died and will be restarted. */
  onDeath: (sentence: string) => void;
}

export interface Child {
  readonly pid: number | undefined;
  /** Resolves when it is ready for the first time. @throws Error with its last message when it could not start */
  started: Promise<void>;
  stop(): Promise<void>;
}

interface Ending {
  wasReady: boolean;
  /** A signal, an exit code, or its last message when it could not start. */
  how: string;
}

/** Runs a program as a child process, and restarts it after a growing pause whenever it ends. */
export function keepAlive(options: ChildOptions): Child {
  const { name, logFile } = options;
  const stopping = new AbortController();
  const started = Promise.withResolvers<void>();
  let hasStarted = false;
  let current: ChildProcess | undefined;

  async function runOnce(): Promise<Ending> {
    const { child, ready, exited, lastWords } = launch(options);
    current = child;
    const said = await Promise.race([ready, exited.then(() => undefined)]);
    if (!said) return { wasReady: false, how: lastWords() ?? (await exited) };
    hasStarted = true;
    options.onReady(said);
    started.resolve();
    return { wasReady: true, how: await exited };
  }

  async function keepRunning(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const { wasReady, how } = await runOnce().catch((error: Error) => ({ wasReady: false, how: error.message }));
      if (stopping.signal.aborted) return;
      if (!hasStarted) return started.reject(new Error(`${name} could not start: ${how} (its log is ${logFile})`));
      options.onDeath(`${name} ended (${how}) and is restarted; its log is ${logFile}`);
      failures = wasReady ? 0 : failures + 1;
      await sleep(Math.min(restartDelayMs * 2 ** failures, restartDelayMsMax), stopping.signal);
    }
  }

  const running = keepRunning();
  return {
    get pid() {
      return current?.pid;
    },
    started: started.promise,
    async stop() {
      stopping.abort();
      current?.kill("SIGTERM");
      const killer = setTimeout(() => current?.kill("SIGKILL"), stopBudgetMs);
      await running;
      clearTimeout(killer);
    },
  };
}

function launch({ args, environment, nodeFlags, logFile }: ChildOptions) {
  const log = openSync(logFile, "a", 0o600);
  const logStart = statSync(logFile).size;
  // In a separate process group, so that Ctrl-C in the terminal reaches only the parent, which stops everything in order.
  const child = spawn(process.execPath, [...nodeFlags, entry, ...args()], {
    detached: true,
    env: environment(),
    stdio: ["ignore", log, log, "ipc"],
  });
  closeSync(log);
  const tooLate = setTimeout(() => child.kill("SIGKILL"), readyBudgetMs);
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    child.on("message", (message: Record<string, unknown>) => {
      if (message.type !== "ready") return;
      clearTimeout(tooLate);
      resolve(message);
    });
  });
  const exited = new Promise<string>((resolve) => {
    const finish = (how: string) => {
      clearTimeout(tooLate);
      resolve(how);
    };
    child.once("error", (error) => finish(error.message));
    child.once("exit", (code, signal) => finish(signal ?? `exit code ${code}`));
  });
  return { child, ready, exited, lastWords: () => lastSentence(logFile, logStart) };
}

/** The last message for people of a process that could not start (log lines are JSON). */
function lastSentence(logFile: string, logStart: number): string | undefined {
  const written = readFileSync(logFile).subarray(logStart).toString();
  const sentences = written.split("\n").filter((line) => line !== "" && !line.startsWith("{"));
  return sentences.find((line) => line.startsWith("deedhouse: "))?.slice("deedhouse: ".length) ?? sentences[0];
}
