/** How every process of ours lives: started by a parent or an operator, ready, told to stop, stopped. */
import { WrongSetting } from "#lib/settings.ts";

export interface Role {
  /** What a parent process is told, e.g. the port. */
  ready: Record<string, unknown>;
  close(): Promise<void>;
}

/** As the tool's own commands end (client/cli/failures.ts). */
const exitCodes = { unexpected: 1, usage: 2 };
/** A process that has not stopped by itself after this is ended. */
const stopBudgetMs = 20_000;
/** PostgreSQL's undefined_table, undefined_column, undefined_function. */
const schemaLacks: ReadonlySet<string> = new Set(["42P01", "42703", "42883"]);
/** What the codes of `util.parseArgs` begin with. */
const parseArgsCode = "ERR_PARSE_ARGS_";

/**
 * Runs a role until SIGTERM, SIGINT, or until the parent that started it over an IPC channel is gone.
 * @param start its error's message is all that the operator sees: it says what to do
 */
export async function runRole(start: () => Promise<Role>): Promise<void> {
  const stop = Promise.withResolvers<undefined>();
  for (const event of ["SIGTERM", "SIGINT", "disconnect"] as const) process.once(event, () => stop.resolve(undefined));
  const role = await Promise.race([startWhole(start).catch(fail), stop.promise]);
  // Nothing was promised to anybody yet.
  if (!role) process.exit(0);
  if (process.connected) process.send?.({ type: "ready", ...role.ready });
  await stop.promise;
  setTimeout(() => process.exit(1), stopBudgetMs).unref();
  await role.close();
  // An open channel would keep the process alive.
  if (process.connected) process.disconnect();
}

/** A setting that is missing is found before there is a promise: that is a failure like any other. */
async function startWhole(start: () => Promise<Role>): Promise<Role> {
  return await start();
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error);
  const code = String((error as { code?: unknown }).code);
  const isSchemaOld = schemaLacks.has(code);
  const advice = isSchemaOld ? "; the database is not at this version's schema: run deedhouse migrate first" : "";
  process.stderr.write(`deedhouse: ${message}${advice}\n`);
  const isUsage = error instanceof WrongSetting || code.startsWith(parseArgsCode);
  process.exit(isUsage ? exitCodes.usage : exitCodes.unexpected);
}
