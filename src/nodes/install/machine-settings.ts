/**
 * The operator's settings of a node: `/etc/deedhouse/node.json`, which `deedhouse node install` writes, and which it and the
 * agent read. All other settings are the same on all nodes.
 */
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { schemaAt, wordsFor } from "#lib/schema-words.ts";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { defaultFolders, defaultProftpdNodeLimits, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";

/** Paths that are the same on all nodes. */
export const machinePaths = {
  folder: "/etc/deedhouse",
  agent: "/etc/deedhouse/agent.json",
  settings: "/etc/deedhouse/node.json",
  proftpdConf: "/etc/deedhouse/proftpd.conf",
  nginxConf: "/etc/deedhouse/nginx.conf",
  /** Key and chain of the FTP server. */
  ftpCertificate: "/etc/deedhouse/ftp-tls.pem",
  /** `<host name>.pem`, key and chain, written by an ACME client. */
  certificates: "/etc/deedhouse/certificates",
  /** Key and chain for `*.<site domain>`. */
  siteCertificate: "/etc/deedhouse/site-tls.pem",
} as const;

const port = Type.Integer({ minimum: 1, maximum: 65_535 });
const address = Type.String({ pattern: "^[0-9a-fA-F:.]+$" });
const limit = Type.Integer({ minimum: 0 });
const limitNames = Object.keys(defaultProftpdNodeLimits);

const MachineSettings = Type.Object(
  {
    /** IP address that all servers listen on. */
    address,
    ftpPort: port,
    passivePorts: Type.Object({ from: port, to: port }),
    /** The address that clients see, behind address translation. */
    publicAddress: Type.Optional(address),
    httpPort: port,
    httpsPort: port,
    /** Changed limits of `ProftpdNodeLimits`. */
    limits: Type.Record(Type.String(), limit),
  },
  { additionalProperties: false },
);
export type MachineSettings = Static<typeof MachineSettings>;

export const defaultMachineSettings: MachineSettings = {
  address: "0.0.0.0",
  ftpPort: 21,
  // One for each session, below the kernel's ephemeral ports (from 32768).
  passivePorts: { from: 30_000, to: 30_999 },
  httpPort: 80,
  httpsPort: 443,
  limits: {},
};

/** @returns undefined when the file does not exist @throws Error that names the file and the problem */
export async function readMachineSettings(file: string): Promise<MachineSettings | undefined> {
  const text = await readFile(file, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  const settings = parseJson(file, text);
  if (!Value.Check(MachineSettings, settings)) {
    const [error] = Value.Errors(MachineSettings, settings);
    throw new Error(`${file}: ${describeProblem(error!)}`);
  }
  const unknown = Object.keys(settings.limits).filter((name) => !limitNames.includes(name));
  if (unknown.length > 0) throw new Error(`${file}: there is no limit ${unknown.join(", ")}`);
  if (settings.passivePorts.from > settings.passivePorts.to)
    throw new Error(`${file}: passivePorts.to is below passivePorts.from`);
  return settings;
}

function describeProblem(error: ReturnType<typeof Value.Errors>[number]): string {
  const path = error.instancePath.split("/").slice(1);
  if (error.keyword !== "required") {
    return `${path.join(".") || "it"} must be ${wordsFor(schemaAt(MachineSettings, path))}`;
  }
  const [missing = ""] = (error.params as { requiredProperties: string[] }).requiredProperties;
  return `${[...path, missing].join(".")} is missing`;
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`);
  }
}

/** All settings of a node that has the machine for itself. */
export function nodeSettingsOf(machine: MachineSettings, siteDomain: string): ProftpdNodeSettings {
  const { address, ftpPort, passivePorts, publicAddress, httpPort, httpsPort, limits } = machine;
  return {
    ...defaultFolders,
    siteDomain,
    ftp: {
      address,
      port: ftpPort,
      passivePorts,
      ...(publicAddress !== undefined && { publicAddress }),
      certificateFile: machinePaths.ftpCertificate,
      keyFile: machinePaths.ftpCertificate,
    },
    web: {
      address,
      port: httpPort,
      tls: {
        port: httpsPort,
        certificatesFolder: machinePaths.certificates,
        siteCertificateFile: machinePaths.siteCertificate,
      },
      user: "www-data",
      mimeTypesFile: "/etc/nginx/mime.types",
    },
    limits: { ...defaultProftpdNodeLimits, ...limits },
  };
}

/** The servers' addresses on the machine itself, for the agent's probes. */
export function localEndpoints({ address, ftpPort, httpPort }: MachineSettings): { ftp: Endpoint; web: Endpoint } {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return { ftp: { host, port: ftpPort }, web: { host, port: httpPort } };
}

/**
 * Loads the agent's settings.
 * @throws Error that says what to do
 */
export async function loadNodeSettings(
  file: string,
  siteDomain: string,
): Promise<{ settings: ProftpdNodeSettings; ftp: Endpoint; web: Endpoint }> {
  const machine = await readMachineSettings(file);
  if (!machine) throw new Error(`${file} does not exist: run deedhouse node install`);
  return { settings: nodeSettingsOf(machine, siteDomain), ...localEndpoints(machine) };
}
