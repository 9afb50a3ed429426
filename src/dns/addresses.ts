/** Addresses as text and as bytes. */
import { isIPv4, isIPv6, SocketAddress } from "node:net";
import { FormProblem } from "#dns/names.ts";
import { expandIpv6 } from "#lib/net/source-address.ts";

/** @throws FormProblem */
export function parseIpv4(text: string): Buffer {
  if (!isIPv4(text)) throw new FormProblem("Give an IPv4 address such as 192.0.2.1.");
  return Buffer.from(text.split(".").map(Number));
}

export const printIpv4 = (bytes: Buffer): string => bytes.join(".");

/** @throws FormProblem */
export function parseIpv6(text: string): Buffer {
  if (!isIPv6(text) || text.includes("%")) throw new FormProblem("Give an IPv6 address such as 2001:db8::1.");
  return Buffer.from(expandIpv6(text).flatMap((group) => [group >> 8, group & 255]));
}

/** RFC 5952. */
export function printIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
  return new SocketAddress({ address: groups.join(":"), family: "ipv6" }).address;
}
