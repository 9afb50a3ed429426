import type { Log } from "#lib/log.ts";

/** Now and then again, never twice at the same time. */
export function every(intervalMs: number, run: () => Promise<void>, log: Log): { close(): Promise<void> } {
  let running: Promise<void> | undefined;
  const begin = () => {
    running ??= run()
      .catch((error) => log.error({ err: error }, "what goes on by itself failed"))
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
