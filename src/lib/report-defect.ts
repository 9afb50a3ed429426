/**
 * What happens to the error of a promise that nothing awaits and that is written never to reject: the process says so on standard
 * error, with the stack, and continues. Where there is a log, or something to end, say that instead.
 */
export function reportDefect(error: unknown): void {
  process.emitWarning(error instanceof Error ? (error.stack ?? error.message) : String(error), "Defect");
}
