/**
 * How the gateway reaches a node without an agent: options of `deedhouse node add` and `set`, in the form for its
 * driver.
 */
import { X509Certificate } from "node:crypto";
import type { Command } from "commander";
import type { NodeKind, NodeSettings } from "#hosting/nodes/nodes.ts";
import type { Random } from "#lib/random.ts";
import { readGivenFile } from "#operator/given-file.ts";
import { CommandFailure, exitCodes } from "../../../client/cli/failures.ts";

const installationBytes = 4;

export interface SettingsOptions {
  panelUrl?: string;
  panelUser?: string;
  panelTokenFile?: string;
  /** False: the panel's default. */
  panelPackage?: string | false;
  /** False: a public authority. */
  panelCaFile?: string | false;
}

export interface NewSettingsOptions extends SettingsOptions {
  panelMailDomain?: string;
  panelInstallation?: string;
}

const kindOf: Record<keyof NewSettingsOptions, NodeKind> = {
  panelUrl: "cpanel",
  panelUser: "cpanel",
  panelTokenFile: "cpanel",
  panelPackage: "cpanel",
  panelCaFile: "cpanel",
  panelMailDomain: "cpanel",
  panelInstallation: "cpanel",
};

/** The settings that can change later. */
export function addSettingsOptions(command: Command): Command {
  return command
    .option("--panel-url <url>", "cpanel: its WHM, such as https://panel.example.net:2087")
    .option("--panel-user <user>", "cpanel: the WHM user of the token")
    .option("--panel-token-file <path>", "cpanel: the file with a WHM API token; - is standard input")
    .option("--panel-package <name>", "cpanel: the package of new accounts; the panel's default without it")
    .option("--panel-ca-file <path>", "cpanel: PEM of the authority of its certificates, if it is not a public one");
}

/** Settings by name; null removes one. */
export type SettingsChange = Readonly<Record<string, string | null>>;

/**
 * The changes that the options give; other settings stay.
 * @throws CommandFailure that says what to do
 */
export function changedSettings(kind: NodeKind, options: SettingsOptions): SettingsChange {
  checkKind(kind, options);
  const { panelUrl: url, panelUser: user, panelTokenFile } = options;
  const { panelPackage: plan, panelCaFile } = options;
  check(url, /^https:\/\/[A-Za-z0-9.-]+(:[0-9]+)?\/?$/, "a URL such as https://panel.example.net:2087");
  check(user, /^[a-z][a-z0-9_-]{0,31}$/, "a user of WHM, such as root or a reseller");
  const said = {
    url,
    user,
    token: readToken(panelTokenFile, /^[A-Za-z0-9]{1,200}$/, "an API token of WHM"),
    plan: plan === false ? null : plan,
    ca: panelCaFile === false ? null : readCertificate(panelCaFile),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as SettingsChange;
}

/** All settings of a new node. @throws CommandFailure that says what to do */
export function newSettings(kind: NodeKind, options: NewSettingsOptions, random: Random): NodeSettings {
  checkKind(kind, options);
  const { panelUrl, panelUser, panelTokenFile, panelMailDomain: mailDomain } = options;
  if (kind === "cpanel" && [panelUrl, panelUser, panelTokenFile, mailDomain].includes(undefined)) {
    const advice = "With --panel-mail-domain they say where the panel is, and how our accounts there are recognised.";
    throw new CommandFailure("--panel-url, --panel-user or --panel-token-file is missing", exitCodes.usage, advice);
  }
  const settings = changedSettings(kind, options) as NodeSettings;
  if (mailDomain === undefined) return settings;
  check(mailDomain, /^(?=.{1,200}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/, "a domain such as ops.example.net");
  const installation = options.panelInstallation ?? random.bytes(installationBytes).toString("hex");
  check(installation, /^[0-9a-z]{1,20}$/, "the value of an earlier node add, such as 3f9c02ab");
  return { ...settings, mailDomain, installation };
}

/** The settings of a node that may be shown. */
export function shownSettings({ url, user, plan, ca, mailDomain, installation }: NodeSettings) {
  return {
    panel_url: url ?? null,
    panel_user: user ?? null,
    panel_package: plan ?? null,
    panel_mail_domain: mailDomain ?? null,
    panel_installation: installation ?? null,
    panel_ca: ca === undefined ? null : new X509Certificate(ca).subject,
  };
}

/** @throws CommandFailure when an option is for another kind of node */
function checkKind(kind: NodeKind, options: NewSettingsOptions): void {
  for (const [name, forKind] of Object.entries(kindOf)) {
    const value = options[name as keyof NewSettingsOptions];
    if (value === undefined || forKind === kind) continue;
    const flag = `--${value === false ? "no-" : ""}${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new CommandFailure(`${flag} is for nodes of the kind ${forKind}, and this one is ${kind}`, exitCodes.usage);
  }
}

function check(value: string | undefined, pattern: RegExp, what: string): void {
  if (value !== undefined && !pattern.test(value)) throw new CommandFailure(`${value} is not ${what}`, exitCodes.usage);
}

function readToken(path: string | undefined, pattern: RegExp, what: string): string | undefined {
  if (path === undefined) return undefined;
  const token = readGivenFile(path).trim();
  if (pattern.test(token)) return token;
  throw new CommandFailure(`${path === "-" ? "standard input" : path} does not contain ${what}`, exitCodes.usage);
}

function readCertificate(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const pem = readGivenFile(path);
  try {
    new X509Certificate(pem);
    return pem;
  } catch {
    throw new CommandFailure(`${path} contains no certificate in PEM`, exitCodes.usage);
  }
}
