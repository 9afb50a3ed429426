/** Debian's Chromium without a window, driven by the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/). */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = "chromium";
const flags = [
  "--headless",
  // Tests run as root in a container.
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  // It talks to nobody but the test's server.
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-default-apps",
  // Otherwise the timers of all tabs but one are slowed down.
  "--disable-background-timer-throttling",
  "--disable-renderer-backgrounding",
  "--disable-backgrounding-occluded-windows",
  "--remote-debugging-port=0",
];

/** Many times what a page takes on a busy machine. */
const patienceMs = 60_000;

export const chromiumIsMissing = (): boolean => spawnSync(program, ["--version"]).status !== 0;

interface Reply {
  id?: number;
  sessionId?: string;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { message: string };
}

export interface Tab {
  send(method: string, params?: object): Promise<unknown>;
  /** @returns the value of an expression, or of the promise that it is. @throws what it throws */
  evaluate<Value>(expression: string): Promise<Value>;
  /** Loads a page, and returns when its scripts run. */
  open(url: string): Promise<void>;
  setView(view: { width: number; isDark: boolean }): Promise<void>;
  /** What the page has written to the console as an error, and its uncaught errors; the next call begins after these. */
  takeErrors(): string[];
}

export interface Chromium {
  newTab(): Promise<Tab>;
  close(): Promise<void>;
}

export async function startChromium(): Promise<Chromium> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-chromium-"));
  const child = spawn(program, [...flags, `--user-data-dir=${folder}`, "about:blank"], {
    // A process group of its own, so that all of its processes end with it.
    detached: true,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const end = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid!, "SIGKILL");
      await once(child, "exit");
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const connection = await connect(await readAddress(child));
    // What it prints later is read, or it would wait for that.
    child.stderr.resume();
    return { newTab: () => newTab(connection), close: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Chromium prints the address of its protocol once it listens. */
async function readAddress({ stderr }: ChildProcess): Promise<string> {
  const printed: string[] = [];
  for await (const line of createInterface({ input: stderr! })) {
    const [, address] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
    if (address) return address;
    printed.push(line);
  }
  throw new Error(`Chromium has not started: ${printed.join("\n")}`);
}

interface Connection {
  send(method: string, params: object, sessionId?: string): Promise<unknown>;
  onEvent(sessionId: string, listener: (method: string, params: Record<string, unknown>) => void): void;
}

async function connect(address: string): Promise<Connection> {
  const socket = new WebSocket(address);
  const waiting = new Map<number, (reply: Reply) => void>();
  const listeners = new Map<string, (method: string, params: Record<string, unknown>) => void>();
  socket.addEventListener("message", ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
    else listeners.get(reply.sessionId ?? "")?.(reply.method!, reply.params ?? {});
  });
  let isClosed = false;
  socket.addEventListener("close", () => {
    isClosed = true;
    for (const answer of waiting.values()) answer({ error: { message: "Chromium has closed the connection" } });
  });
  await once(socket, "open");
  let sent = 0;
  return {
    async send(method, params, sessionId) {
      if (isClosed) throw new Error(`${method}: Chromium has ended`);
      const id = ++sent;
      const { promise, resolve } = Promise.withResolvers<Reply>();
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params, sessionId }));
      const { result, error } = await promise;
      waiting.delete(id);
      if (error) throw new Error(`${method}: ${error.message}`);
      return result;
    },
    onEvent: (sessionId, listener) => listeners.set(sessionId, listener),
  };
}

async function newTab(connection: Connection): Promise<Tab> {
  // The tabs of one window hide each other, and a hidden page learns of no change of its colours.
  const { targetId } = (await connection.send("Target.createTarget", { url: "about:blank", newWindow: true })) as {
    targetId: string;
  };
  const attached = await connection.send("Target.attachToTarget", { targetId, flatten: true });
  const { sessionId } = attached as { sessionId: string };
  const errors: string[] = [];
  connection.onEvent(sessionId, (method, params) => errors.push(...errorsOf(method, params)));
  const send: Tab["send"] = (method, params = {}) => connection.send(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Log"]) await send(`${domain}.enable`);
  // A colour in the middle of a transition is none that a reader sees.
  const still =
    "new MutationObserver((_, seen) => document.head && (seen.disconnect(), document.head.append(Object.assign(document.createElement('style'), { textContent: '*, ::before, ::after { transition: none !important }' })))).observe(document, { childList: true, subtree: true })";
  await send("Page.addScriptToEvaluateOnNewDocument", { source: still });

  const evaluate = async <Value>(expression: string): Promise<Value> => {
    const answer = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    const { result, exceptionDetails } = answer as { result: { value: Value }; exceptionDetails?: object };
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return result.value;
  };
  return {
    send,
    evaluate,
    async open(url) {
      await send("Page.navigate", { url });
      await evaluate(
        untilTrue(`location.href === ${JSON.stringify(url)} && document.querySelector("#app")?.__vue_app__`),
      );
    },
    async setView({ width, isDark }) {
      await send("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
      const scheme = { name: "prefers-color-scheme", value: isDark ? "dark" : "light" };
      await send("Emulation.setEmulatedMedia", { features: [scheme] });
      await evaluate(untilTrue(`innerWidth === ${width} && document.documentElement.matches(".dark") === ${isDark}`));
    },
    takeErrors: () => errors.splice(0),
  };
}

/** A promise, in the page, that a condition holds. */
const untilTrue = (condition: string) => `new Promise((resolve, reject) => {
  const end = performance.now() + ${patienceMs};
  const look = () => {
    if (${condition}) resolve(true);
    else if (performance.now() > end) reject(new Error("this does not become true: " + ${JSON.stringify(condition)}));
    else setTimeout(look, 10);
  };
  look();
})`;

function errorsOf(method: string, params: Record<string, unknown>): string[] {
  if (method === "Runtime.exceptionThrown") return [JSON.stringify(params.exceptionDetails)];
  if (method === "Runtime.consoleAPICalled" && params.type === "error") return [JSON.stringify(params.args)];
  const { level, text, url } = (params.entry ?? {}) as { level?: string; text?: string; url?: string };
  return method === "Log.entryAdded" && level === "error" ? [`${text} ${url ?? ""}`] : [];
}
