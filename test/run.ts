/**
 * `npm test`: one PostgreSQL for all test files, then `node --test`.
 *
 *   npm test                      everything
 *   npm test -- src/db            the tests below a folder
 *   npm test -- src/db/x.test.ts --test-name-pattern=refuses
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startTestServer } from "./harness/server.ts";

/** Most files wait for something most of the time: with 4, two cores were idle for a fifth of the run. */
const filesAtOnce = 6;
/** Node keeps compiled modules here: each file and each process under test would compile the same hundred again. */
const compileCache = fileURLToPath(new URL("../node_modules/.cache/compile", import.meta.url));
/** Several times what the slowest file takes on a busy machine: a test that waits for ever fails instead. */
const fileTimeoutMs = 300_000;
const everything = ["src", "client", "sandbox", "test"];

const given = process.argv.slice(2);
const flags = given.filter((argument) => argument.startsWith("-"));
const paths = given.filter((argument) => !argument.startsWith("-"));

const server = await startTestServer();
const tests = spawn(
  process.execPath,
  [
    "--test",
    `--test-concurrency=${filesAtOnce}`,
    `--test-timeout=${fileTimeoutMs}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    ...flags,
    ...(paths.length > 0 ? paths : everything).map(toPattern),
  ],
  {
    stdio: "inherit",
    env: { NODE_COMPILE_CACHE: compileCache, ...process.env, DEEDHOUSE_TEST_DATABASE_URL: server.templateUrl },
  },
);
// A Ctrl-C ends the tests first, and the server after them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, "exit");
await server.stop();
process.exitCode = code ?? 1;

function toPattern(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? `${path}/**/*.test.ts` : path;
}
