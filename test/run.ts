/**
 * Runs tests: one PostgreSQL for all test files, then `node --test`.
 *
 *   npm test                        everything but the slow tests
 *   npm run test:slow               the slow tests: files named *.slow.test.ts
 *   npm run test:alone              those that load the whole machine, file by file: *.alone.test.ts
 *   npm test -- src/db              all tests below a folder, slow ones too
 *   npm test -- src/db/x.test.ts --test-name-pattern=refuses
 *   npm test -- --page              prints into CONTRIBUTING.md how long each area took
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#lib/clock.ts";
import { loadCertificate as loadNodeCertificate } from "#nodes/certificate.ts";
import { loadCertificate as loadRegistryCertificate } from "../sandbox/registry/certificates.ts";
import { replacePrinted } from "./harness/printed-page.ts";
import { startTestServer } from "./harness/server.ts";

/** Most files wait for something most of the time: with 4, two cores were idle for a fifth of the run. */
const filesAtOnce = 6;
/** Node keeps compiled modules here: each file and each process under test would compile the same hundred again. */
const compileCache = fileURLToPath(new URL("../node_modules/.cache/compile", import.meta.url));
/** Several times what the slowest file takes on a busy machine: a test that waits for ever fails instead. */
const fileTimeoutMs = 300_000;
/** Node waits for ever for a file whose tests have ended but whose process lives, such as one that left a server behind. */
const silenceMsMax = 2 * fileTimeoutMs;
const everything = ["bin", "src", "client", "mcp", "sandbox", "test"];
const ownFlags = ["--slow", "--alone", "--page"];
const quickResolve = new URL("harness/quick-resolve.ts", import.meta.url);
const timesReporter = new URL("harness/times-reporter.ts", import.meta.url);
const page = new URL("../CONTRIBUTING.md", import.meta.url);

const given = process.argv.slice(2);
const [isSlow, isAlone, isForPage] = ownFlags.map((flag) => given.includes(flag));
const flags = given.filter((argument) => argument.startsWith("-") && !ownFlags.includes(argument));
const paths = given.filter((argument) => !argument.startsWith("-"));

const server = await startTestServer();
const folder = await mkdtemp(join(tmpdir(), "deedhouse-test-run-"));
const tlsFolder = join(folder, "tls");
await loadRegistryCertificate(tlsFolder);
await loadNodeCertificate(tlsFolder, "127.0.0.1", systemClock);
const times = isForPage && join(folder, "times.md");
const tests = spawn(
  process.execPath,
  [
    `--import=${quickResolve}`,
    "--test",
    `--test-concurrency=${isAlone ? 1 : filesAtOnce}`,
    `--test-timeout=${fileTimeoutMs}`,
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    ...(times ? [`--test-reporter=${timesReporter}`, `--test-reporter-destination=${times}`] : []),
    ...flags,
    ...(paths.length > 0 ? paths : everything).flatMap(toFiles),
  ],
  {
    stdio: ["inherit", "pipe", "inherit"],
    env: {
      NODE_COMPILE_CACHE: compileCache,
      ...(process.stdout.isTTY && { FORCE_COLOR: "1" }),
      ...process.env,
      DEEDHOUSE_TEST_DATABASE_URL: server.templateUrl,
      DEEDHOUSE_TEST_TLS_DIR: tlsFolder,
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
if (times) {
  const table = (await readFile(times, "utf8")).trimEnd();
  await writeFile(page, replacePrinted(await readFile(page, "utf8"), isSlow ? "slow tests" : "tests", table));
}
await rm(folder, { recursive: true });

/** Names the files that do not end, and ends them (proc(5)). */
function giveUp(): void {
  const pids = readFileSync(`/proc/${tests.pid}/task/${tests.pid}/children`, "utf8").trim().split(" ");
  const files = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").at(-2));
  console.error(`No test has ended for ${silenceMsMax / 60_000} minutes. Still running: ${files.join(", ")}`);
  for (const pid of pids) process.kill(Number(pid), "SIGTERM");
}

function toFiles(path: string): string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const files = globSync(`${path}/**/*.test.ts`, { exclude: ["**/node_modules"] }).toSorted();
  const laneOf = (file: string) => /\.(slow|alone)\.test\.ts$/.exec(file)?.[1];
  const lane = isSlow ? "slow" : isAlone ? "alone" : undefined;
  return paths.length > 0 && !lane ? files : files.filter((file) => laneOf(file) === lane);
}
