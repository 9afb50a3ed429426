/**
 * What a machine's operator decides about its node: `/etc/deedhouse/node.json`, written by `deedhouse node install`, read by
 * it and by the agent. Everything else of a node's settings is the same everywhere.
 */
import { readFile } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { ignoreMissing } from "#nodes/atomic-file.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { defaultFolders, defaultProftpdNodeLimits, type ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";

/** What is where on every node. */
export const machinePaths = {
  folder: "/etc/deedhouse",
  agent: "/etc/deedhouse/agent.json",
  settings: "/etc/deedhouse/node.json",
  proftpdConf: "/etc/deedhouse/proftpd.conf",
  nginxConf: "/etc/deedhouse/nginx.conf",
  /** Key and chain of the FTP server. */
  ftpCertificate: "/etc/deedhouse/ftp-tls.pem",
  /** `<host name>.pem`, key and chain, as an ACME client puts them there. */
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
    /** Where clients see another address than the machine has: behind address translation. */
    publicAddress: Type.Optional(address),
    httpPort: port,
    httpsPort: port,
    /** Of `ProftpdNodeLimits`, those that shall be otherwise than usual. */
    limits: Type.Record(Type.String(), limit),
  },
  { additionalProperties: false },
);
export type MachineSettings = Static<typeof MachineSettings>;

export const defaultMachineSettings: MachineSettings = {
  address: "0.0.0.0",
  ftpPort: 21,
  // One for each session, and below those that the kernel gives away by itself (32768).
  passivePorts: { from: 30_000, to: 30_999 },
  httpPort: 80,
  httpsPort: 443,
  limits: {},
};

/** @returns undefined when there is no such file @throws Error that names the file and what is wrong */
export async function readMachineSettings(file: string): Promise<MachineSettings | undefined> {
  const text = await readFile(file, "utf8").catch(ignoreMissing);
  if (text === undefined) return undefined;
  const settings = parseJson(file, text);
  if (!Value.Check(MachineSettings, settings)) {
    const [error] = Value.Errors(MachineSettings, settings);
    throw new Error(`${file}: ${error?.instancePath || "the file"} ${error?.message}`);
  }
  const unknown = Object.keys(settings.limits).filter((name) => !limitNames.includes(name));
  if (unknown.length > 0) throw new Error(`${file}: there is no limit ${unknown.join(", ")}`);
  if (settings.passivePorts.from > settings.passivePorts.to)
    throw new Error(`${file}: passivePorts end before they begin`);
  return settings;
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file} is not JSON: ${(error as Error).message}`);
  }
}

/** All settings of a node on a machine of its own. */
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

/** Where the machine itself reaches its servers: for the agent's probes. */
export function localEndpoints({ address, ftpPort, httpPort }: MachineSettings): { ftp: Endpoint; web: Endpoint } {
  const host = { "0.0.0.0": "127.0.0.1", "::": "::1" }[address] ?? address;
  return { ftp: { host, port: ftpPort }, web: { host, port: httpPort } };
}

/**
 * The settings by which the agent works.
 * @throws Error that says what to do
 */
export async function loadNodeSettings(
  file: string,
  siteDomain: string,
): Promise<{ settings: ProftpdNodeSettings; ftp: Endpoint; web: Endpoint }> {
  const machine = await readMachineSettings(file);
  if (!machine) throw new Error(`${file} is not there: run deedhouse node install`);
  return { settings: nodeSettingsOf(machine, siteDomain), ...localEndpoints(machine) };
}
