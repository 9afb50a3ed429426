import { isCode, isTestCode } from "./source.ts";

/** A rule that one line can break. */
export interface LineRule {
  /** The test's name: what is true of every line. */
  rule: string;
  /** What to do instead. */
  instead: string;
  pattern: RegExp;
  /** A line that breaks it, so that a pattern which finds nothing is noticed. */
  example: string;
  appliesTo(path: string): boolean;
  /** Comments may talk about what code may not do. */
  inComments: boolean;
}

const readsClock = ["src/lib/clock.ts", "sandbox/registry/clock.ts", "client/sdk/clock.ts"];
const drawsRandom = ["src/lib/random.ts"];
const readsEnvironment = ["src/config.ts", "client/cli/settings.ts", "sandbox/registry/main.ts"];
/** Decisions and the changelog are history. */
const isHistory = (path: string) => /^docs\/decisions\/|^CHANGELOG\.md$/.test(path);
/** These files name what they forbid. */
const isHouseStyle = (path: string) => path.startsWith("test/house-style");

const code = (path: string) => isCode(path) && !isHouseStyle(path);
/** Ours that serves or runs for long. */
const runsAsProcess = (path: string) => /^(src|client|mcp|bin)\//.test(path) && isCode(path) && !isTestCode(path);
const codeExcept = (paths: string[]) => (path: string) => code(path) && !paths.includes(path);

/** Phrases that are wrong nearly always; what to write instead beside those that are not obvious. */
const oldPhrases = [
  String.raw`\b[Ss]hall\b`, // must, should
  String.raw`\b[Aa]new\b`,
  String.raw`\b[Ww]hoever\b`,
  String.raw`\b(is|are|was|were|been) told\b`, // gets, receives
  String.raw`\bhears? (of|that|it|which|why|nothing)\b`, // is notified
  String.raw`\bnobody hears\b`,
  String.raw`\b[Tt]he word (of|to)\b`,
  String.raw`\bcomes? to be\b`,
  String.raw`\bputs? (itself|himself) off\b`, // backs off
  String.raw`\bat work\b`, // works, runs
  String.raw`\bunder way\b`, // in progress
  String.raw`\bgoes on (by itself|as|at|with|until|once|where)\b`, // continues
  String.raw`\b[Ww]ish(es|ed)\b`,
  String.raw`\b(is|are) wanted\b`,
  String.raw`\b[Tt]akes? (it |them )?away\b`, // removes
  String.raw`\b[Ll]ets? (it |them )?go of\b`, // releases
  String.raw`\b(write|writes|written) down\b`, // records
  String.raw`\bheld against\b`, // compared with
  String.raw`\bthere no more\b`,
  String.raw`\bfor want of\b`,
  String.raw`\b[Ss]o many\b`, // this many
];

export const lineRules: LineRule[] = [
  {
    rule: "only the clocks read the time",
    instead: "ask context.clock.now() (tests: manualClock, so that no test depends on how fast it runs)",
    pattern: /\bDate\.now\b|\bnew Date\(\)|\bnew Date\b(?!\()/,
    example: "const startedAt = Date.now();",
    appliesTo: (path) => codeExcept(readsClock)(path) && !path.startsWith("bench/"),
    inComments: false,
  },
  {
    rule: "only src/lib/random.ts draws random numbers and ids",
    instead: "use context.random (in client/ and sandbox/, node:crypto's randomBytes)",
    pattern: /\bMath\.random\b|\brandomUUID\b/,
    example: "const id = randomUUID();",
    appliesTo: codeExcept(drawsRandom),
    inComments: false,
  },
  {
    rule: "only the configuration reads the environment",
    instead: "list and parse the variable in src/config.ts and pass its value on",
    pattern: /\bprocess\.env\b/,
    example: "const port = Number(process.env.PORT);",
    appliesTo: (path) => codeExcept(readsEnvironment)(path) && !isTestCode(path) && !path.startsWith("bench/"),
    inComments: false,
  },
  {
    rule: "what the tool prints passes client/cli/output.ts",
    instead: "print, note or ask: texts of services and registries must not reach the terminal as they are",
    pattern: /\bstd(out|err)\.write\b|\bconsole\.|output: process\./,
    example: "process.stdout.write(order.reason);",
    appliesTo: (path) =>
      /^(client\/cli|src\/operator)\//.test(path) &&
      codeExcept(["client/cli/output.ts", "client/cli/confirm.ts"])(path) &&
      !isTestCode(path),
    inComments: false,
  },
  {
    rule: "no promise is thrown away with void",
    instead: "say what happens to its error: .catch(...), with reportDefect when it never rejects",
    pattern: /\bvoid (?!\(await )[\w(#]/,
    example: '  server.on("request", (request) => void serve(request));',
    appliesTo: runsAsProcess,
    inComments: false,
  },
  {
    rule: "no listener and no timer is async",
    instead:
      "an error in it would end the process: call an async function, and say in .catch(...) what happens to its error",
    pattern:
      /(\.(on|once|onReconnect|prependListener|addEventListener)|\b(set(Timeout|Interval|Immediate)|subscribe|queueMicrotask))\((["\w.]+, )?async\b/,
    example: '  socket.on("data", async (bytes) => {',
    appliesTo: runsAsProcess,
    inComments: false,
  },
  {
    rule: "SQL names its columns",
    instead: "list the columns: a column that a migration adds must not appear in answers by itself",
    pattern: /\bSELECT\s+(\w+\.)?\*|\bRETURNING \*/i,
    example: "  `SELECT d.* FROM domains AS d`,",
    appliesTo: (path) => (code(path) && !isTestCode(path)) || path.endsWith(".sql"),
    inComments: false,
  },
  {
    rule: "only src/lib/net/name-lookups.ts looks up names that strangers have given",
    instead:
      "use context.names, which has a deadline and turns by account, and connect to the addresses that you judged: fetch and dns.lookup call getaddrinfo",
    pattern: /\bfrom "(node:)?dns(\/promises)?"|\bfetch\(/,
    example: 'import { lookup } from "node:dns/promises";',
    appliesTo: (path) =>
      path.startsWith("src/") && codeExcept(["src/lib/net/name-lookups.ts"])(path) && !isTestCode(path),
    inComments: false,
  },
  {
    rule: "statements are declared at module level",
    instead: "move it to the left margin: a statement declared in a function is declared again by the second call",
    pattern: /^\s+.*(?<![.\w])statement\(/,
    example: '  const read = statement("domain-read", text, {});',
    // These make statements of a list or a table for their callers at module level.
    appliesTo: (path) =>
      path.startsWith("src/") &&
      codeExcept([
        "src/use-case/newest-first.ts",
        "src/use-case/paging.ts",
        "src/db/parts.ts",
        "src/progress/rows.ts",
        "src/webhooks/turns.ts",
        "src/domains/orders/due.ts",
        "src/domains/orders/write.ts",
      ])(path) &&
      !isTestCode(path),
    inComments: false,
  },
  {
    rule: "nothing is left to do",
    instead: "do it, or say in the text why it is as it is",
    pattern: /\b(TODO|FIXME|HACK)\b/,
    example: "// TODO: close it",
    appliesTo: (path) => !isHouseStyle(path),
    inComments: true,
  },
  {
    rule: "nothing depends on the machine it was written on, or on who wrote it when",
    instead: "name paths from the repository's root, reasons instead of issue numbers",
    pattern:
      /(?<![\w.])\/(work|home|Users)\/|\bissue #?\d|\b(agent|session|turn) #\d|registry\.npmjs|npmmirror|\bverdaccio\b/i,
    example: "see /home/ann/notes.md",
    appliesTo: (path) => !isHouseStyle(path),
    inComments: true,
  },
  {
    rule: "a duration's name ends in its unit",
    instead: "add the unit to the name: Ms, Seconds, Hours, Days",
    pattern: /\bconst \w*(Timeout|Interval|Delay|Budget|Backoff|Grace|Window|Age)(Max|Min|Default)? = [\d(]/,
    example: "const retryDelay = 500;",
    appliesTo: code,
    inComments: false,
  },
  {
    rule: "a limit's name ends in unit and Max, Min or Default",
    instead:
      "put the qualifier last (retryDelayMsMax, not retryDelayMaxMs) and count text in Chars or Bytes, not Length",
    pattern:
      /\bconst (\w+(Max|Min|Default)(Ms|Seconds|Minutes|Hours|Days|Bytes|Chars)|\w+(Length|Characters|Size)(Max|Min|Default)|(max|min)[A-Z]\w*) = [\d(]/,
    example: "const retryDelayMaxMs = 10_000;",
    appliesTo: code,
    inComments: false,
  },
  {
    rule: "a skipped test says why",
    instead: 'give the reason as text: { skip: !hasCurl && "needs curl" }',
    pattern: /\bskip: ?true\b|\btodo: ?true\b|\b(test|it|describe)\.(skip|todo)\(/,
    example: 'test.skip("refuses a long frame", () => {});',
    appliesTo: code,
    inComments: false,
  },
  {
    rule: "tests end and count sessions of their own database only",
    instead: "call endSessions of test/harness/sql.ts: all tests share one server",
    pattern: /\bpg_stat_activity\b/,
    example: "  await runSql(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity`);",
    appliesTo: (path) => code(path) && isTestCode(path) && path !== "test/harness/sql.ts",
    inComments: false,
  },
  {
    rule: "a test's name is a sentence",
    instead: 'name the rule that it holds, as a reseller could read it: "refuses a frame longer than 4 MiB"',
    pattern: /^\s*(await )?(t\.)?(test|it)\(\s*["'`][^\s"'`]*["'`],/,
    example: 'test("frames", () => {',
    appliesTo: (path) => path.endsWith(".test.ts") && !isHouseStyle(path),
    inComments: false,
  },
  {
    rule: "a suppressed finding names the rule and the reason",
    instead: "repair it, or write // biome-ignore <rule>: <reason>, // @ts-expect-error <reason>",
    pattern:
      /@ts-(ignore|nocheck)|@ts-expect-error(?! \w)|biome-ignore(?! lint\/\w+\/\w+: \w)|biome-ignore-all|eslint-disable/,
    example: "// @ts-expect-error",
    appliesTo: code,
    inComments: true,
  },
  {
    rule: "sentences are plain English",
    instead:
      "say it as the documentation of PostgreSQL or Django would: subject, verb, object; must, retries, gets, again",
    pattern: new RegExp(oldPhrases.join("|")),
    example: "/** Whoever waits is told when the account comes to be what it shall be. */",
    appliesTo: (path) => (isCode(path) || /\.(md|sql)$/.test(path)) && !isHouseStyle(path) && !isHistory(path),
    inComments: true,
  },
  {
    rule: "an object literal is not spread into another",
    instead: "write its properties out, a line each where the formatter wants that",
    pattern: /\.\.\.\{ ?\w/,
    example: "start({ ...{ host, port }, tls })",
    appliesTo: code,
    inComments: false,
  },
];
