/** The client libraries, each driven by a process that makes the calls of a test. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Scope } from "../harness/database.ts";

export interface Language {
  name: string;
  command: string[];
  /** Why it cannot run here. */
  skip: string | false;
  /** How the language writes a name of ours: `getDomain`. */
  spell: (name: string) => string;
}

const isMissing = (program: string, ...args: string[]) => spawnSync(program, args).status !== 0;
const bridge = (name: string) => join(import.meta.dirname, name);

export const python: Language = {
  name: "Python",
  command: ["python3", bridge("client-bridge.py")],
  skip: isMissing("python3", "--version") && "python3 is not installed",
  spell: (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
};

export const php: Language = {
  name: "PHP",
  command: ["php", bridge("client-bridge.php")],
  skip: isMissing("php", "-r", "curl_version();") && "php-curl is not installed",
  spell: (name) => name,
};

/** Its own tour is in typescript-tour.test.ts: there the compiler looks at the calls, too. */
export const typescript: Language = {
  name: "TypeScript",
  command: [process.execPath, bridge("client-bridge.ts")],
  skip: false,
  spell: (name) => name,
};

export interface ForeignOptions {
  url: string;
  apiKey: string;
  apiSecret: string;
  timeoutSeconds?: number;
  retriesMax?: number;
  caFile?: string;
  userAgent?: string;
  /** Its clock never waits. */
  isInstant?: boolean;
}

/** An answer, an error or items, with names as JavaScript writes them. */
export type Fields = Record<string, unknown>;

export interface Said {
  result?: Fields;
  error?: Fields & { type: string; message: string };
  /** The seconds of each wait, if the clock never waits. */
  slept: number[];
  /** The numbers of the retries. */
  retries: number[];
}

export interface ForeignClient {
  /** Makes a call; both its name and those of its arguments are JavaScript's. `placed!` is what the last call placed. */
  say(method: string, args?: object, itemsMax?: number): Promise<Said>;
  /** The result of a call that must succeed. */
  get(method: string, args?: object, itemsMax?: number): Promise<Fields>;
  /** The data of an answer, or the items of a list. */
  data<T = Fields>(method: string, args?: object): Promise<T>;
  /** The error of a call that must fail. */
  fail(method: string, args?: object): Promise<Fields & { type: string }>;
}

/** Starts a client. It must not print warnings. */
export async function startForeignClient(
  scope: Scope,
  language: Language,
  options: ForeignOptions,
): Promise<ForeignClient> {
  const [program = "", ...args] = language.command;
  // A proxy that nobody listens on: the libraries must not use the environment's.
  const nowhere = "http://127.0.0.1:1";
  const env = { ...process.env, http_proxy: nowhere, HTTP_PROXY: nowhere, https_proxy: nowhere, ALL_PROXY: nowhere };
  const child = spawn(program, args, { env });
  const exited = once(child, "exit");
  let warnings = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    warnings += text;
  });
  child.stdin.on("error", () => {});
  scope.after(async () => {
    child.kill();
    await exited;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const spelled = (given: object) =>
    Object.fromEntries(Object.entries(given).map(([name, value]) => [language.spell(name), value]));
  child.stdin.write(`${JSON.stringify(spelled(options))}\n`);

  const say = async (method: string, given: object = {}, itemsMax?: number): Promise<Said> => {
    const call = { method: language.spell(method), args: spelled(given), items_max: itemsMax };
    child.stdin.write(`${JSON.stringify(call)}\n`);
    const { value, done } = await lines.next();
    if (done) assert.fail(`the client has ended: ${warnings}`);
    assert.equal(warnings, "", "warnings of the client");
    const { result, error, ...rest } = JSON.parse(value) as Said;
    return { ...rest, ...(result && { result: readable(result) }), ...(error && { error: readable(error) as never }) };
  };
  const get = async (method: string, given?: object, itemsMax?: number) => {
    const said = await say(method, given, itemsMax);
    return said.result ?? assert.fail(`${method}: ${JSON.stringify(said)}`);
  };
  return {
    say,
    get,
    async data<T>(method: string, given?: object) {
      const found = await get(method, given);
      return (found.items ?? found.data) as T;
    },
    async fail(method, given) {
      const said = await say(method, given);
      return said.error ?? assert.fail(`${method}: ${JSON.stringify(said)}`);
    },
  };
}

/** Names of fields in JavaScript's spelling; what the service sent stays as it is. */
function readable(fields: Fields): Fields {
  if (Array.isArray(fields)) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      if (name === "errors") return [name, (value as Fields[]).map(readable)];
      const isOurs = /^rate_?limit$/i.test(name) && value !== null;
      return [camelCase(name), isOurs ? readable(value as Fields) : value];
    }),
  );
}

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
