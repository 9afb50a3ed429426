/**
 * `npm test`: one PostgreSQL for all test files, then `node --test`.
 *
 *   npm test                      everything
 *   npm test -- src/db            the tests below a folder
 *   npm test -- src/db/x.test.ts --test-name-pattern=refuses
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { startTestServer } from "./harness/server.ts";

/** Most files wait for something most of the time: with 4, two cores were idle for a fifth of the run. */
const filesAtOnce = 6;
/** Node keeps compiled modules here: each file and each process under test would compile the same hundred again. */
const compileCache = fileURLToPath(new URL("../node_modules/.cache/compile", import.meta.url));
/** Several times what the slowest file takes on a busy machine: a test that waits for ever fails instead. */
const fileTimeoutMs = 300_000;
/** Node waits for ever for a file whose tests have ended but whose process lives, such as one that left a server behind. */
const silenceMsMax = 2 * fileTimeoutMs;
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
    stdio: ["inherit", "pipe", "inherit"],
    env: {
      NODE_COMPILE_CACHE: compileCache,
      ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
      ...process.env,
      DEEDHOUSE_TEST_DATABASE_URL: server.templateUrl,
    },
  },
);
tests.stdout.pipe(process.stdout);
const silence = setTimeout(giveUp, silenceMsMax);
tests.stdout.on("data", () => silence.refresh());
// A Ctrl-C ends the tests first, and the server after them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => tests.kill(signal));
const [code] = await once(tests, "close");
clearTimeout(silence);
await server.stop();
process.exitCode = code ?? 1;

/** Names the files that do not end, and ends them (proc(5)). */
function giveUp(): void {
  const pids = readFileSync(`/proc/${tests.pid}/task/${tests.pid}/children`, "utf8").trim().split(" ");
  const files = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").at(-2));
  console.error(`No test has ended for ${silenceMsMax / 60_000} minutes. Still running: ${files.join(", ")}`);
  for (const pid of pids) process.kill(Number(pid), "SIGTERM");
}

function toPattern(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? `${path}/**/*.test.ts` : path;
}
