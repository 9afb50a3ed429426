/**
 * The only reader of the environment. Every variable is listed here and parsed once, and all mistakes are reported
 * together. `deedhouse start` sets the variables of the processes that it starts; elsewhere an operator does.
 */
import { readFileSync } from "node:fs";
import { BlockList } from "node:net";
import { type AlarmChannels, isLoopback, readAlarmChannels } from "#config-alarms.ts";
import { readZones, type ZonesConfig } from "#config-zones.ts";
import type { Demands } from "#db/facts.ts";
import { readTraces, type TracesSettings } from "#lib/measure/send-spans.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import type { ProxySettings } from "#lib/net/behind-proxies.ts";
import { type SourceShares, sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { forwardedHeaders } from "#lib/net/forwarded-address.ts";
import type { StatusSettings } from "#lib/net/status-listener.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { parseTrustedProxies } from "#lib/net/trusted-proxies.ts";
import { createReader, type Reader, readSetting, refuseMistakes } from "#lib/settings.ts";

/** `DEEDHOUSE_NONCES`: of one api, or of several. */
export type NonceMode = "journal" | "database";

export interface Config {
  /** `sandbox` permits what only a test system may do; `production` has no looser defaults. */
  deployment: "sandbox" | "production";
  databaseUrl: string;
  databaseDemands: Demands;
  logLevel: string;
  /** Master keys as `id:key`, the current one first; the others only open what they have sealed. */
  masterKeys: string[];
  /** One password per line; without it, the built-in list. */
  commonPasswordsFile: string | undefined;
  apiHost: string;
  apiPort: number;
  /** Without it, the api speaks plain HTTP. */
  apiTls: TlsPair | undefined;
  /** The proxies whose statement about the client the api trusts; undefined: none. */
  proxies: ProxySettings | undefined;
  /** In production, requests would cross a network in plain text: refused, unless the operator allows it. */
  plainHttp: "no" | "refused" | "allowed";
  connectionsMax: number;
  /** Shares of the connections to the api and to the agents' endpoint. */
  sourceShares: SourceShares;
  /** Where used nonces are kept. */
  nonces: NonceMode;
  /** Where the api keeps its journal of used nonces, or has kept it; empty: nowhere. */
  replayDir: string;
  /** Failed authentications that one source address may make per minute. */
  sourceFailuresMax: number;
  signatureWindowSeconds: number;
  /** From SIGTERM on, how long the api still accepts requests while `/readyz` says that it drains. */
  drainMs: number;
  checkBudgetMs: number;
  checkFreshMs: number;
  authCodeHours: number;
  contactMonths: number;
  messageDays: number;
  registriesFile: string;
  siteDomain: string;
  reservedHosts: string[];
  /** Where the process says how it is. */
  status: StatusSettings;
  /** Where the agents of hosting nodes reach this gateway; undefined: nowhere. */
  agentEndpoint: AgentEndpointConfig | undefined;
  zones: ZonesConfig;
  /** Folders whose disks are watched, in addition to those that a process writes to. */
  diskFolders: string[];
  /** Name servers for the proof of host names, with or without a port; empty: the system's. */
  dnsServers: string[];
  /** Private ranges to which webhooks may be sent. */
  webhookRanges: string[];
  webhookPlainHttp: boolean;
  /** Certificate authorities of their receivers, instead of the system's. */
  webhookCaFile: string | undefined;
  /** How spans reach a collector; undefined: not at all. */
  traces: TracesSettings | undefined;
  /** How messages about alarms reach the operator. */
  alarmChannels: AlarmChannels;
}

/** For "localhost" Node opens a second listener, to which none of our limits would apply. */
const oneAddress = (host: string) => (host === "localhost" ? "127.0.0.1" : host);

export interface AgentEndpointConfig {
  host: string;
  port: number;
  tls?: TlsPair;
  /** Where nodes find it, if not at host and port. */
  url?: string;
  proxies?: ProxySettings;
  connectionsMax: number;
}

const loopback = ["127.0.0.0/8", "::1/128"];

/**
 * The proxies that the api and the agents' endpoint trust. They are the same, but each may use another way to name the
 * client.
 */
function readProxies({ list, optional, flag, mistakes }: Reader) {
  const entries = list("DEEDHOUSE_TRUSTED_PROXIES");
  const name = optional("DEEDHOUSE_FORWARDED_HEADER")?.toLowerCase();
  const ofApi = flag("DEEDHOUSE_PROXY_PROTOCOL");
  const ofAgents = flag("DEEDHOUSE_NODES_PROXY_PROTOCOL");
  const header = forwardedHeaders.find((known) => known === name);
  if (name !== undefined && header === undefined) {
    mistakes.push(`DEEDHOUSE_FORWARDED_HEADER must be Forwarded or X-Forwarded-For, not "${name}"`);
  }
  if (entries.length === 0) {
    if (name !== undefined || ofApi || ofAgents) {
      mistakes.push("DEEDHOUSE_TRUSTED_PROXIES is not set: which proxies' forwarded addresses are trusted?");
    }
    return { api: undefined, agents: undefined };
  }
  if (name === undefined && !ofApi && !ofAgents) {
    mistakes.push(
      "DEEDHOUSE_FORWARDED_HEADER and DEEDHOUSE_PROXY_PROTOCOL are not set: how do the trusted proxies name the client?",
    );
  }
  try {
    const trusted = parseTrustedProxies(entries);
    const of = (proxyProtocol: boolean): ProxySettings | undefined =>
      header || proxyProtocol ? { trusted, header, proxyProtocol } : undefined;
    return { api: of(ofApi), agents: of(ofAgents) };
  } catch (error) {
    mistakes.push(`DEEDHOUSE_TRUSTED_PROXIES: ${(error as Error).message}`);
    return { api: undefined, agents: undefined };
  }
}

function readAgentEndpoint(
  { optional, integer, tls: readTls, mistakes }: Reader,
  proxies: ProxySettings | undefined,
): AgentEndpointConfig | undefined {
  if (optional("DEEDHOUSE_NODES_PORT") === undefined) return undefined;
  const host = oneAddress(optional("DEEDHOUSE_NODES_HOST") ?? "127.0.0.1");
  const url = optional("DEEDHOUSE_NODES_URL");
  const tls = readTls("DEEDHOUSE_NODES_CERTIFICATE", "DEEDHOUSE_NODES_KEY");
  // The agents receive password hashes over this connection.
  if (!tls && !isLoopback(host) && !url?.startsWith("https://")) {
    mistakes.push(
      "DEEDHOUSE_NODES_CERTIFICATE_FILE is not set: beyond loopback, nodes need TLS, from the gateway or from a proxy at DEEDHOUSE_NODES_URL",
    );
  }
  if (url === undefined && ["0.0.0.0", "::"].includes(host)) {
    mistakes.push("DEEDHOUSE_NODES_URL is not set: where do nodes find this gateway?");
  }
  const port = integer("DEEDHOUSE_NODES_PORT", 0, 0);
  const connectionsMax = integer("DEEDHOUSE_NODES_CONNECTIONS_MAX", 2_000, 1);
  return {
    host,
    port,
    connectionsMax,
    ...(tls && { tls }),
    ...(url !== undefined && { url }),
    ...(proxies && { proxies }),
  };
}

/** A sandbox has nothing to lose: its names are registered nowhere. */
function readDemands({ flag }: Reader, isSandbox: boolean): Demands {
  const mayLoseCommits = flag("DEEDHOUSE_ALLOW_LOST_COMMITS");
  const durability = isSandbox ? "ignored" : mayLoseCommits ? "waived" : "needed";
  return { durability, synchronous: flag("DEEDHOUSE_DATABASE_SYNCHRONOUS") };
}

/** The table of nonces has parts for this many seconds. */
const databaseWindowSecondsMax = 900;

function readNonces({ text, optional, integer, mistakes }: Reader) {
  const nonces = text("DEEDHOUSE_NONCES", "journal");
  const windowSeconds = integer("DEEDHOUSE_SIGNATURE_WINDOW_SECONDS", 300, 1);
  if (nonces !== "journal" && nonces !== "database") {
    mistakes.push(`DEEDHOUSE_NONCES must be "journal" or "database", not "${nonces}"`);
  }
  const isShared = nonces === "database";
  if (isShared && windowSeconds > databaseWindowSecondsMax) {
    mistakes.push(
      `DEEDHOUSE_SIGNATURE_WINDOW_SECONDS must be at most ${databaseWindowSecondsMax} with DEEDHOUSE_NONCES=database`,
    );
  }
  return {
    nonces: isShared ? ("database" as const) : ("journal" as const),
    replayDir: isShared ? (optional("DEEDHOUSE_REPLAY_DIR") ?? "") : text("DEEDHOUSE_REPLAY_DIR"),
    signatureWindowSeconds: windowSeconds,
  };
}

/** The requests that are in progress when the port closes need the rest of the time that a process has to stop. */
const drainMsMax = 20_000;

function readDrain({ integer, mistakes }: Reader): number {
  const drainMs = integer("DEEDHOUSE_DRAIN_MS", 5_000, 0);
  if (drainMs > drainMsMax) mistakes.push(`DEEDHOUSE_DRAIN_MS must be at most ${drainMsMax}`);
  return drainMs;
}

export function readStatus({ optional, list, integer, mistakes }: Reader): StatusSettings {
  const host = oneAddress(optional("DEEDHOUSE_METRICS_HOST") ?? "127.0.0.1");
  const isOpen = optional("DEEDHOUSE_METRICS_PORT") !== undefined;
  const ranges = list("DEEDHOUSE_METRICS_ALLOW");
  if (isOpen && !isLoopback(host) && ranges.length === 0) {
    mistakes.push(
      `DEEDHOUSE_METRICS_HOST is "${host}", beyond loopback: set DEEDHOUSE_METRICS_ALLOW to the ranges of those who may ask there, such as 10.1.0.0/16`,
    );
  }
  return {
    // systemd names the folder of RuntimeDirectory= so; there may be several.
    runtimeDir: optional("DEEDHOUSE_RUNTIME_DIR") ?? optional("RUNTIME_DIRECTORY")?.split(":", 1)[0],
    host,
    port: isOpen ? integer("DEEDHOUSE_METRICS_PORT", 0, 0) : undefined,
    allowed: readRanges("DEEDHOUSE_METRICS_ALLOW", [...loopback, ...ranges], mistakes),
  };
}

function readRanges(name: string, ranges: string[], mistakes: string[]): BlockList {
  try {
    return parseRanges(ranges);
  } catch (error) {
    mistakes.push(`${name}: ${(error as Error).message}`);
    return new BlockList();
  }
}

/**
 * Where a process says how it is: for the agent, whose other settings are in a file, and for those who ask.
 * @throws WrongSetting that lists every mistake, one per line
 */
export function loadStatusConfig(environment: NodeJS.ProcessEnv = process.env): StatusSettings {
  const reader = createReader(environment);
  return reader.finish(readStatus(reader));
}

function readSourceShares({ integer, mistakes }: Reader): SourceShares {
  const usual = sourceSharesDefault;
  const reservedPercent = integer("DEEDHOUSE_RESERVED_CONNECTIONS_PERCENT", usual.reservedPercent, 0);
  if (reservedPercent > 100) mistakes.push("DEEDHOUSE_RESERVED_CONNECTIONS_PERCENT must be at most 100");
  return {
    reservedPercent,
    sourceConnectionsMax: integer("DEEDHOUSE_SOURCE_CONNECTIONS_MAX", usual.sourceConnectionsMax, 1),
    sourceHalfOpenMax: integer("DEEDHOUSE_SOURCE_HALF_OPEN_MAX", usual.sourceHalfOpenMax, 1),
    halfOpenMs: integer("DEEDHOUSE_HALF_OPEN_MS", usual.halfOpenMs, 100),
    fewConnectionsMax: integer("DEEDHOUSE_FEW_CONNECTIONS_MAX", usual.fewConnectionsMax, 1),
  };
}

/** A registry may send a message again until its acknowledgement arrives. */
const messageDaysMin = 30;

/**
 * Parses the environment.
 * @throws WrongSetting that lists every mistake, one per line
 */
export function loadConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const { config, mistakes } = readConfig(environment);
  refuseMistakes(mistakes);
  return config;
}

/** A setting with a mistake has a value that nothing may be done with, except to look for more mistakes. */
export function readConfig(environment: NodeJS.ProcessEnv): { config: Config; mistakes: string[] } {
  const reader = createReader(environment);
  const { text, optional, list, integer, flag, mistakes } = reader;
  const deployment = text("DEEDHOUSE_DEPLOYMENT", "production");
  if (deployment !== "sandbox" && deployment !== "production") {
    mistakes.push(`DEEDHOUSE_DEPLOYMENT must be "sandbox" or "production", not "${deployment}"`);
  }
  const masterKeys = reader.requiredList("DEEDHOUSE_MASTER_KEY");
  const apiHost = oneAddress(text("DEEDHOUSE_API_HOST", "127.0.0.1"));
  const apiTls = reader.tls("DEEDHOUSE_TLS_CERTIFICATE", "DEEDHOUSE_TLS_KEY");
  const proxies = readProxies(reader);
  const isPlain = deployment === "production" && !isLoopback(apiHost) && !apiTls && !proxies.api;
  const mayBePlain = flag("DEEDHOUSE_ALLOW_PLAIN_HTTP");
  const webhookPlainHttp = flag("DEEDHOUSE_WEBHOOK_PLAIN_HTTP") || deployment === "sandbox";
  const config: Config = {
    deployment: deployment === "sandbox" ? "sandbox" : "production",
    databaseUrl: text("DATABASE_URL"),
    databaseDemands: readDemands(reader, deployment === "sandbox"),
    logLevel: text("DEEDHOUSE_LOG_LEVEL", "info"),
    masterKeys,
    commonPasswordsFile: environment.DEEDHOUSE_COMMON_PASSWORDS_FILE,
    apiHost,
    apiPort: integer("DEEDHOUSE_API_PORT", 7400, 0),
    apiTls,
    proxies: proxies.api,
    plainHttp: !isPlain ? "no" : mayBePlain ? "allowed" : "refused",
    connectionsMax: integer("DEEDHOUSE_CONNECTIONS_MAX", 10_000, 1),
    sourceShares: readSourceShares(reader),
    ...readNonces(reader),
    sourceFailuresMax: integer("DEEDHOUSE_SOURCE_FAILURES_MAX", 100, 1),
    drainMs: readDrain(reader),
    checkBudgetMs: integer("DEEDHOUSE_CHECK_BUDGET_MS", 2_000, 1),
    checkFreshMs: integer("DEEDHOUSE_CHECK_FRESH_MS", 30_000, 0),
    authCodeHours: integer("DEEDHOUSE_AUTH_CODE_HOURS", 336, 1),
    contactMonths: integer("DEEDHOUSE_CONTACT_MONTHS", 15, 1),
    messageDays: integer("DEEDHOUSE_MESSAGE_DAYS", 730, messageDaysMin),
    registriesFile: text("DEEDHOUSE_REGISTRIES_FILE"),
    siteDomain: text("DEEDHOUSE_SITE_DOMAIN", "localhost"),
    reservedHosts: list("DEEDHOUSE_RESERVED_HOSTS"),
    status: readStatus(reader),
    agentEndpoint: readAgentEndpoint(reader, proxies.agents),
    zones: readZones(reader),
    // Separated by colons, as in PATH, because a folder's name may contain spaces.
    diskFolders: (optional("DEEDHOUSE_DISK_FOLDERS") ?? "").split(":").filter((folder) => folder !== ""),
    dnsServers: list("DEEDHOUSE_DNS_SERVERS"),
    // Receivers on the same server, to try webhooks with.
    webhookRanges:
      deployment === "sandbox" ? [...list("DEEDHOUSE_WEBHOOK_RANGES"), ...loopback] : list("DEEDHOUSE_WEBHOOK_RANGES"),
    webhookPlainHttp,
    webhookCaFile: optional("DEEDHOUSE_WEBHOOK_CA_FILE"),
    traces: readTraces(environment),
    alarmChannels: readAlarmChannels(reader, webhookPlainHttp),
  };
  return { config, mistakes };
}

/** The settings of the role `node`. */
export interface NodeConfig {
  logLevel: string;
  dataDir: string;
  host: string;
  ftpPort: number;
  webPort: number;
  /** Passive FTP ports; any free ones when both are 0. */
  passiveFrom: number;
  passiveTo: number;
  /** The output of `deedhouse node token`; not needed once the node has joined its gateway. */
  token: string | undefined;
  siteDomain: string;
  /** Where the process says how it is. */
  status: StatusSettings;
}

/**
 * Parses the environment of a hosting node.
 * @throws WrongSetting that lists every mistake, one per line
 */
export function loadNodeConfig(environment: NodeJS.ProcessEnv = process.env): NodeConfig {
  const reader = createReader(environment);
  const { text, optional, integer, finish } = reader;
  return finish({
    logLevel: text("DEEDHOUSE_LOG_LEVEL", "info"),
    dataDir: text("DEEDHOUSE_NODE_DATA_DIR"),
    host: text("DEEDHOUSE_NODE_HOST", "127.0.0.1"),
    ftpPort: integer("DEEDHOUSE_NODE_FTP_PORT", 7421, 0),
    webPort: integer("DEEDHOUSE_NODE_WEB_PORT", 7480, 0),
    passiveFrom: integer("DEEDHOUSE_NODE_PASSIVE_FROM", 0, 0),
    passiveTo: integer("DEEDHOUSE_NODE_PASSIVE_TO", 0, 0),
    token: optional("DEEDHOUSE_NODE_TOKEN"),
    siteDomain: text("DEEDHOUSE_SITE_DOMAIN", "localhost"),
    status: readStatus(reader),
  });
}

const logBytesMaxDefault = 10 * 1024 * 1024;
const logBytesMaxMin = 64 * 1024;

/**
 * The settings of `deedhouse start` itself.
 * @throws WrongSetting that lists every mistake, one per line
 */
export function loadStartConfig(environment: NodeJS.ProcessEnv = process.env) {
  const { optional, integer, finish } = createReader(environment);
  return finish({
    /** For one file; each process has two. */
    logBytesMax: integer("DEEDHOUSE_LOG_BYTES_MAX", logBytesMaxDefault, logBytesMaxMin),
    /** Of the agents' endpoint, instead of the one that belongs to the port base. */
    nodesPort: optional("DEEDHOUSE_NODES_PORT") === undefined ? undefined : integer("DEEDHOUSE_NODES_PORT", 0, 0),
  });
}

/** Everything that opens the database, its sealed values or the API. */
export const secretVariables =
  /^(DATABASE_URL|PG[A-Z]+|DEEDHOUSE_(MASTER_KEY|API_SECRET|TLS_KEY|NODES_KEY|SMTP_URL|ALARMS_WEBHOOK|ALARMS_SLACK)|OTEL_EXPORTER_OTLP_([A-Z]+_)?HEADERS)(_FILE)?$/;

/** The environment of a child process: ours, plus the settings of the child. */
export function childEnvironment(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...process.env, ...own };
}

/** The same for a process that does not need our secrets. */
export function outsideEnvironment(own: Record<string, string>): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !secretVariables.test(name));
  return { ...Object.fromEntries(inherited), ...own };
}

/** Settings that replace those in a data folder, for the operator's commands and `start`. */
export function operatorEnvironment(environment: NodeJS.ProcessEnv = process.env) {
  return {
    deployment: environment.DEEDHOUSE_DEPLOYMENT,
    databaseUrl: readSetting(environment, "DATABASE_URL"),
    masterKeys: readSetting(environment, "DEEDHOUSE_MASTER_KEY"),
    registriesFile: environment.DEEDHOUSE_REGISTRIES_FILE,
  };
}

/** Differs after each start of the machine. Our units give it to services, from which systemd hides the kernel's files. */
export function readBootId({ BOOT_ID: given }: NodeJS.ProcessEnv = process.env): string {
  return given ?? readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().replaceAll("-", "");
}
