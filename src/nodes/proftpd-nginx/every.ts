import type { Log } from "#lib/log.ts";

/** Runs now, and then every `intervalMs`, never twice at the same time. */
export function every(intervalMs: number, run: () => Promise<void>, log: Log): { close(): Promise<void> } {
  let running: Promise<void> | undefined;
  const begin = () => {
    running ??= run()
      .catch((error) => log.error({ err: error }, "periodic work failed"))
      .finally(() => {
        running = undefined;
      });
  };
  begin();
  const timer = setInterval(begin, intervalMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
