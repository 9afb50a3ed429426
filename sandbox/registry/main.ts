import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { FaultSettings } from "./faults.ts";
import {
  type RegistrarAccount,
  type SandboxRegistry,
  type SandboxRegistryOptions,
  startSandboxRegistry,
} from "./server.ts";
import { parseSetting, settingLines } from "./setting-option.ts";

const help = `Usage: deedhouse sandbox-registry [options]

An EPP registry for development and tests. It registers nothing in the outside world, and does not start when
DEEDHOUSE_DEPLOYMENT is set to anything but "sandbox".

Options:
  --suffix SUFFIX              a suffix under which names are sold; repeatable
  --registrar ID:PASSWORD      a registrar that may log in; repeatable
  --registrars-file FILE       the same as JSON: [{"id": "…", "password": "…"}]
  --data DIR                   where names and journal are kept; default: in memory only
  --host HOST                  the address of EPP (127.0.0.1)
  --port PORT                  the port of EPP; default: any free port
  --control-port PORT          the control port, always on 127.0.0.1; default: any free port
  --client-ca FILE             requires client certificates signed by a CA in this file
  --client-certificate         requires the client certificate that the registry creates in DIR/tls
  --name-server HOST           a host that names can delegate to, with the name above it; repeatable
  --faults JSON                the initial faults, as for POST /faults
  --and                        another registry in the same process, with the options that follow
  --setting NAME=VALUE         a setting; repeatable. All settings with their defaults:
${settingLines()}
  --production                 refuses to start, like the environment variable
  --help                       display this

Example:
  deedhouse sandbox-registry --suffix test --registrar gate-one:secret-1 --port 7000 --control-port 7001
`;

/**
 * Runs registries as a separate process until SIGTERM, SIGINT, or the end of its parent: one, and another for each `--and`. A
 * parent with an IPC channel gets {type: "ready", port, controlPort, caFile, others}, where `others` has the same of each
 * registry after the first; otherwise it is printed. For invalid arguments, and in production, it prints one sentence and sets
 * the exit code to 2.
 */
export async function runSandboxRegistry(args: string[]): Promise<void> {
  const wanted = await Promise.all(groupsOf(args).map(readOptions)).catch(fail);
  const registries = wanted?.filter((options) => options !== undefined) ?? [];
  if (registries.length < groupsOf(args).length) return;
  const stopped = new Promise((resolve) => {
    for (const event of ["SIGTERM", "SIGINT", "disconnect"]) process.once(event, resolve);
  });
  await using running = new AsyncDisposableStack();
  const places = await startAll(registries, running).catch(fail);
  if (!places) return;
  const [first, ...others] = places;
  const ready = { type: "ready", ...first, ...(others.length > 0 && { others }) };
  if (process.connected) process.send?.(ready);
  else process.stdout.write(`${JSON.stringify(ready)}\n`);
  await stopped;
  await running.disposeAsync();
  if (process.connected) process.disconnect();
}

type Place = Pick<SandboxRegistry, "port" | "controlPort" | "caFile" | "clientCertFile" | "clientKeyFile">;

async function startAll(wanted: readonly SandboxRegistryOptions[], running: AsyncDisposableStack): Promise<Place[]> {
  const places: Place[] = [];
  for (const options of wanted) {
    const registry = running.adopt(await startSandboxRegistry(options), (started) => started.close());
    const { port, controlPort, caFile, clientCertFile, clientKeyFile } = registry;
    places.push({ port, controlPort, caFile, clientCertFile, clientKeyFile });
  }
  return places;
}

/** The arguments of each registry: `--and` stands between them. */
function groupsOf(args: readonly string[]): string[][] {
  const end = args.indexOf("--and");
  return end < 0 ? [[...args]] : [args.slice(0, end), ...groupsOf(args.slice(end + 1))];
}

function fail(error: Error): undefined {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
  if (process.connected) process.disconnect();
}

/** The options; undefined after printing --help. */
async function readOptions(args: string[]): Promise<SandboxRegistryOptions | undefined> {
  const { values } = parseArgs({
    args,
    options: {
      suffix: { type: "string", multiple: true, default: [] },
      registrar: { type: "string", multiple: true, default: [] },
      "registrars-file": { type: "string" },
      data: { type: "string" },
      host: { type: "string" },
      port: { type: "string" },
      "control-port": { type: "string" },
      "client-ca": { type: "string" },
      "client-certificate": { type: "boolean" },
      "name-server": { type: "string", multiple: true, default: [] },
      faults: { type: "string" },
      setting: { type: "string", multiple: true, default: [] },
      production: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return undefined;
  }
  const file = values["registrars-file"];
  const settings = Object.fromEntries(values.setting.map(parseSetting));
  return {
    ...settings,
    suffixes: values.suffix,
    registrars: [...values.registrar.map(parseRegistrar), ...(file ? await readRegistrars(file) : [])],
    port: parseNumber("--port", values.port ?? "0"),
    controlPort: parseNumber("--control-port", values["control-port"] ?? "0"),
    ...(values.host !== undefined && { host: values.host }),
    ...(values.data !== undefined && { dataDir: values.data }),
    production: values.production === true || !["sandbox", undefined].includes(process.env.DEEDHOUSE_DEPLOYMENT),
    ...(values["client-ca"] !== undefined && { clientCaFile: values["client-ca"] }),
    ...(values["client-certificate"] && { clientCertificates: true }),
    nameServers: values["name-server"],
    ...(values.faults !== undefined && { faults: parseJson("--faults", values.faults) as Partial<FaultSettings> }),
  };
}

function parseRegistrar(text: string): RegistrarAccount {
  const colon = text.indexOf(":");
  if (colon < 0) throw new Error("--registrar must have the form ID:PASSWORD.");
  return { id: text.slice(0, colon), password: text.slice(colon + 1) };
}

async function readRegistrars(file: string): Promise<RegistrarAccount[]> {
  const accounts = JSON.parse(await readFile(file, "utf8")) as RegistrarAccount[];
  const isList = Array.isArray(accounts);
  if (!isList || accounts.some(({ id, password }) => typeof id !== "string" || typeof password !== "string")) {
    throw new Error(`${file} must contain [{"id": "…", "password": "…"}].`);
  }
  return accounts;
}

function parseJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${option} must be JSON, not "${text}".`);
  }
}

function parseNumber(option: string, text: string): number {
  if (!/^\d{1,12}$/.test(text)) throw new Error(`${option} must be a whole number, not "${text}".`);
  return Number(text);
}
