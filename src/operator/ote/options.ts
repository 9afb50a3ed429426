/** Parses the options of `deedhouse ote`: a wrong value is reported before anything is done. */
import { isIP } from "node:net";
import { InvalidArgumentError } from "commander";
import { parseDomainName } from "#lib/domain-name.ts";
import { wholeNumber } from "#operator/arguments.ts";

export interface OteOptions {
  data: string;
  registries?: string;
  host?: string;
  port?: number;
  suffix?: string;
  label?: string;
  secondRegistrar?: string;
  otherName?: string;
  restoreName?: string;
  nameServers?: string[];
  addresses: string[];
  keyData?: boolean;
  contactField?: Map<string, string>;
  changePassword?: boolean;
  only?: string[];
  skip?: string[];
  from?: string;
  expect?: Map<string, number[]>;
  list?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  keep?: boolean;
  secrets?: boolean;
  out?: string;
  json?: boolean;
}

export const portNumber = wholeNumber(1, 65_535);

export function namesInList(text: string): string[] {
  if (/^[a-z0-9-]+(,[a-z0-9-]+)*$/.test(text)) return text.split(",");
  throw new InvalidArgumentError("It must be names of steps such as domain-create,domain-info.");
}

/** Leaves room for what is added before and after it. */
const labelCharsMax = 50;

export function oteLabel(text: string): string {
  if (text.length <= labelCharsMax && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError(`It must be 1 to ${labelCharsMax} of a-z, 0-9 and the hyphen, as a label is.`);
}

/** `step=code` or `step=code,code`; each use of the option adds one. */
export function oteExpectation(text: string, others: Map<string, number[]> = new Map()): Map<string, number[]> {
  const [, step, codes] = /^([a-z0-9-]+)=([12][0-9]{3}(?:,[12][0-9]{3})*)$/.exec(text) ?? [];
  if (!step || !codes)
    throw new InvalidArgumentError("It must be a step and its result codes: domain-renew=1000,1001.");
  return new Map(others).set(step, codes.split(",").map(Number));
}

/** `name=value`; each use of the option adds one. */
export function oteContactField(text: string, others: Map<string, string> = new Map()): Map<string, string> {
  const [, name, value] = /^([a-z][a-z0-9_]*)=(.+)$/.exec(text) ?? [];
  if (!name || !value) throw new InvalidArgumentError("It must be a field and its value: tax_number=12345.");
  return new Map(others).set(name, value);
}

export function outsideHosts(text: string): string[] {
  const hosts = text.split(",").map(testName);
  if (new Set(hosts).size === 2) return hosts;
  throw new InvalidArgumentError("It must be two names of hosts such as ns1.example.net,ns2.example.net.");
}

export function testName(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

export function testAddresses(text: string): string[] {
  const addresses = text.split(",");
  if (addresses.every((address) => isIP(address) > 0) && new Set(addresses).size === 2) return addresses;
  throw new InvalidArgumentError("It must be two addresses such as 192.0.2.53,2001:db8::53.");
}
