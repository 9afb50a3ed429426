/**
 * Compiles what the parts import before they start, in a process that ends. A part that finds a module in Node's compile cache does
 * not load the compiler, which would keep some 12 MB for as long as the part lives.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const entry = fileURLToPath(new URL("../../bin/deedhouse.ts", import.meta.url));

/**
 * @param environment with NODE_COMPILE_CACHE, which Node fills at the process's end
 * @param signal ends it early
 */
export async function compileParts(environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [entry, "compile"], {
    detached: true,
    env: environment,
    stdio: "ignore",
    signal,
  });
  // Without it the parts compile for themselves.
  await once(child, "exit").catch(() => {});
}
