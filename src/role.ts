/** The life of every process of ours: started by a parent or an operator, ready, stopping, stopped. */
import { WrongSetting } from "#lib/settings.ts";

export interface Role {
  /** Values for the parent process, e.g. the port. */
  ready: Record<string, unknown>;
  /** What it still does while it closes: said when it must be ended. */
  unfinished?(): string;
  close(): Promise<void>;
}

/** The same codes as the tool's commands use (client/cli/failures.ts). */
const exitCodes = { unexpected: 1, usage: 2 };
/** After this time, a process that has not stopped is ended. */
const stopBudgetMs = 30_000;
/** PostgreSQL's undefined_table, undefined_column, undefined_function. */
const schemaLacks: ReadonlySet<string> = new Set(["42P01", "42703", "42883"]);
/** The prefix of `util.parseArgs` error codes. */
const parseArgsCode = "ERR_PARSE_ARGS_";

/**
 * Runs a role until SIGTERM, SIGINT, or until the parent that started it over an IPC channel has exited.
 * @param start its error's message is all that the operator sees, so it says what to do
 */
export async function runRole(start: () => Promise<Role>): Promise<void> {
  const stop = Promise.withResolvers<undefined>();
  let signals = 0;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      signals++;
      // Somebody who does not want to wait.
      if (signals > 1) process.exit(exitCodes.unexpected);
      stop.resolve(undefined);
    });
  }
  process.once("disconnect", () => stop.resolve(undefined));
  // Other services read their settings again. Here a restart does, and costs no request.
  process.on("SIGHUP", () => say("SIGHUP is ignored: restart this process to read its settings again"));
  const role = await Promise.race([startWhole(start).catch(fail), stop.promise]);
  // The process was not ready yet, so nothing depends on it.
  if (!role) process.exit(0);
  if (process.connected) process.send?.({ type: "ready", ...role.ready });
  await stop.promise;
  setTimeout(() => {
    const unfinished = role.unfinished?.() ?? "";
    say(`it did not stop within ${stopBudgetMs / 1000} s, and is ended${unfinished && `; cut: ${unfinished}`}`);
    process.exit(exitCodes.unexpected);
  }, stopBudgetMs).unref();
  await role.close();
  // An open channel would keep the process alive.
  if (process.connected) process.disconnect();
}

/** `start` may throw before it returns a promise, when a setting is missing: make that a rejection too. */
async function startWhole(start: () => Promise<Role>): Promise<Role> {
  return await start();
}

function say(sentence: string): void {
  process.stderr.write(`deedhouse: ${sentence}\n`);
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  const code = String((error as { code?: unknown }).code);
  const isSchemaOld = schemaLacks.has(code);
  const advice = isSchemaOld ? "; the database is not at this version's schema: run deedhouse migrate first" : "";
  say(`${message}${advice}`);
  const isUsage = error instanceof WrongSetting || code.startsWith(parseArgsCode);
  process.exit(isUsage ? exitCodes.usage : exitCodes.unexpected);
}
