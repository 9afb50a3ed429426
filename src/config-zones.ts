/** The settings of zones, which api, worker and role `dns` share. */
import { BlockList } from "node:net";
import type { ZoneSettings } from "#context.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import type { Reader } from "#lib/settings.ts";

export interface ZonesConfig extends ZoneSettings {
  /** Address ranges whose unsigned questions are answered. */
  answered: BlockList;
}

const loopback = ["127.0.0.0/8", "::1/128"];
/** As many as fit into a DNS answer of 512 bytes, and as registries take. */
const nameServersMax = 13;

export function readZones({ list, optional, integer, mistakes }: Reader): ZonesConfig {
  const nameServers = list("DEEDHOUSE_NAME_SERVERS").map((name) => readName("DEEDHOUSE_NAME_SERVERS", name, mistakes));
  if (new Set(nameServers).size < nameServers.length || nameServers.length > nameServersMax) {
    mistakes.push(`DEEDHOUSE_NAME_SERVERS must name at most ${nameServersMax} servers, each once`);
  }
  const hostmaster = optional("DEEDHOUSE_ZONES_HOSTMASTER");
  return {
    nameServers,
    hostmaster: hostmaster === undefined ? defaultHostmaster(nameServers) : readHostmaster(hostmaster, mistakes),
    host: optional("DEEDHOUSE_ZONES_HOST") ?? "127.0.0.1",
    port: integer("DEEDHOUSE_ZONES_PORT", 7453, 0),
    answered: readAnswered(list("DEEDHOUSE_ZONES_ANSWER"), mistakes),
  };
}

/** The mail address in its form for SOA (RFC 1035 §8): the first dot stands for the @. */
const defaultHostmaster = ([first = ""]: readonly string[]) =>
  first === "" ? "" : `hostmaster.${first.split(".").slice(1).join(".")}`;

function readHostmaster(address: string, mistakes: string[]): string {
  const [, local = "", host = ""] = /^([a-z0-9_-]+)@(.+)$/i.exec(address) ?? [];
  if (local === "") {
    mistakes.push(`DEEDHOUSE_ZONES_HOSTMASTER must be a mail address without a dot before the @, not "${address}"`);
    return "";
  }
  return `${local.toLowerCase()}.${readName("DEEDHOUSE_ZONES_HOSTMASTER", host, mistakes)}`;
}

function readName(setting: string, name: string, mistakes: string[]): string {
  try {
    return parseDomainName(name);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    mistakes.push(`${setting}: "${name}" is not a host name: ${error.message}`);
    return "";
  }
}

function readAnswered(ranges: string[], mistakes: string[]): BlockList {
  try {
    return parseRanges(ranges.length === 0 ? loopback : ranges);
  } catch (error) {
    mistakes.push(`DEEDHOUSE_ZONES_ANSWER: ${(error as Error).message}`);
    return new BlockList();
  }
}
