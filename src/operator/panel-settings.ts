/** What `deedhouse node add --kind cpanel` is told of the panel, as the node's driver takes it. */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Random } from "#lib/random.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";

const installationBytes = 4;

export interface PanelOptions {
  panelUrl?: string;
  panelUser?: string;
  panelTokenFile?: string;
  panelMailDomain?: string;
  panelPackage?: string;
  panelCaFile?: string;
  panelInstallation?: string;
}

/** @throws CommandFailure that says what to do */
export function panelSettings(options: PanelOptions, random: Random): Record<string, string> {
  const { panelUrl: url, panelUser: user, panelTokenFile, panelMailDomain: mailDomain } = options;
  if (url === undefined || user === undefined || panelTokenFile === undefined || mailDomain === undefined) {
    const advice = "With --panel-mail-domain they say where the panel is, and how accounts there are known as ours.";
    throw new CommandFailure("--panel-url, --panel-user or --panel-token-file is missing", exitCodes.usage, advice);
  }
  check(url, /^https:\/\/[A-Za-z0-9.-]+(:[0-9]+)?\/?$/, "a URL such as https://panel.example.net:2087");
  check(user, /^[a-z][a-z0-9_-]{0,31}$/, "a user of WHM, such as root or a reseller");
  check(mailDomain, /^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/, "a domain such as ops.example.net");
  const installation = options.panelInstallation ?? random.bytes(installationBytes).toString("hex");
  check(installation, /^[0-9a-z]{1,20}$/, "what an earlier node add has said, such as 3f9c02ab");
  const token = read(panelTokenFile).trim();
  if (!/^[A-Za-z0-9]{1,200}$/.test(token)) {
    throw new CommandFailure(`${panelTokenFile} does not hold an API token of WHM`, exitCodes.usage);
  }
  const { panelPackage: plan, panelCaFile } = options;
  return {
    ...{ url, user, token, mailDomain, installation },
    ...(plan !== undefined && { plan }),
    ...(panelCaFile !== undefined && { ca: readCertificate(panelCaFile) }),
  };
}

function check(value: string, pattern: RegExp, what: string): void {
  if (!pattern.test(value)) throw new CommandFailure(`${value} is not ${what}`, exitCodes.usage);
}

function readCertificate(path: string): string {
  const pem = read(path);
  try {
    new X509Certificate(pem);
    return pem;
  } catch {
    throw new CommandFailure(`${path} holds no certificate in PEM`, exitCodes.usage);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandFailure(`can't read ${path}: ${(error as Error).message}`, exitCodes.usage);
  }
}
