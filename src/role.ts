/** How every process of ours lives: started by a parent or an operator, ready, told to stop, stopped. */

export interface Role {
  /** What a parent process is told, e.g. the port. */
  ready: Record<string, unknown>;
  close(): Promise<void>;
}

/** A process that has not stopped by itself after this is ended. */
const stopBudgetMs = 20_000;

/**
 * Runs a role until SIGTERM, SIGINT, or until the parent that started it over an IPC channel is gone.
 * @param start its error's message is all that the operator sees: it says what to do
 */
export async function runRole(start: () => Promise<Role>): Promise<void> {
  const stop = Promise.withResolvers<undefined>();
  for (const event of ["SIGTERM", "SIGINT", "disconnect"] as const) process.once(event, () => stop.resolve(undefined));
  const role = await Promise.race([start().catch(fail), stop.promise]);
  // Nothing was promised to anybody yet.
  if (!role) process.exit(0);
  if (process.connected) process.send?.({ type: "ready", ...role.ready });
  await stop.promise;
  setTimeout(() => process.exit(1), stopBudgetMs).unref();
  await role.close();
  // An open channel would keep the process alive.
  if (process.connected) process.disconnect();
}

function fail(error: unknown): never {
  process.stderr.write(`deedhouse: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
