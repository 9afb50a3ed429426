/**
 * Names of zones and records: lower-case A-labels, without escapes. An absolute name has the last dot. An owner is relative
 * to its zone; "@" is the apex.
 */
import { isDomainName } from "#lib/domain-name.ts";
import { canonicalHostName } from "#lib/idna.ts";

/** A sentence about a text that is no record, name or number of its kind. Nothing secret is in it. */
export class FormProblem extends Error {
  override readonly name = "FormProblem";
}

export const apex = "@";

/** RFC 1035 §2.3.4: 255 bytes on the wire, without the first length and the root. */
const nameCharsMax = 253;
const labelCharsMax = 63;

const plainLabel = /^(?!..--)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;
const asciiLabel = /^[A-Za-z0-9_-]+$/;
/** What UTS #46 §2.3 treats as a dot. */
const dots = /[.\u3002\uFF0E\uFF61]/u;

function parseLabel(label: string): string {
  if (label === "") throw new FormProblem("The name has an empty label: remove the extra dot.");
  if (label.includes("\\")) throw new FormProblem("A name has no escapes here: use letters, digits, hyphens and _.");
  const lower = label.toLowerCase();
  const isOrdinary = plainLabel.test(lower) || (asciiLabel.test(lower) && lower.includes("_"));
  // A label alone may be all digits, which canonicalHostName takes for an address.
  const result = isOrdinary ? { name: `${lower}.a` } : canonicalHostName(`${label}.a`);
  if ("problem" in result) throw new FormProblem(`The name ${result.problem}.`);
  const canonical = result.name.slice(0, -2);
  if (canonical.length > labelCharsMax) throw new FormProblem(`A label has at most ${labelCharsMax} characters.`);
  return canonical;
}

/**
 * An absolute name with its last dot.
 * @param origin what a name without the last dot is relative to, as in zone files; without it such a name is absolute
 * @throws FormProblem
 */
export function parseName(text: string, origin?: string): string {
  if (text === "") throw new FormProblem("A name is missing.");
  if (text === ".") return ".";
  if (text === apex && origin !== undefined) return origin;
  const isAbsolute = text.endsWith(".");
  const [first = "", ...others] = (isAbsolute ? text.slice(0, -1) : text).split(dots);
  const labels = [first === "*" ? "*" : parseLabel(first), ...others.map(parseLabel)];
  const name = `${labels.join(".")}.${isAbsolute || origin === undefined || origin === "." ? "" : origin}`;
  if (name.length - 1 > nameCharsMax) throw new FormProblem(`A name has at most ${nameCharsMax} characters.`);
  return name;
}

/** A name inside a record. @throws FormProblem */
export function parseTarget(text: string, origin?: string): string {
  const name = parseName(text, origin);
  if (name.startsWith("*")) throw new FormProblem("A record cannot lead to a wildcard: give a name.");
  return name;
}

/** The name of a host (RFC 1123 §2.1), as NS, MX and SRV need it. @throws FormProblem */
export function parseHost(text: string, origin?: string): string {
  const name = parseTarget(text, origin);
  if (name === ".") throw new FormProblem("Give the name of a host instead of the root.");
  const result = canonicalHostName(name);
  if ("problem" in result) throw new FormProblem(`The host name ${result.problem}.`);
  return name;
}

/** "example.com." of "example.com". A zone has two labels at least: nobody's suffix becomes a zone. */
export function originOf(zone: string): string {
  if (!isDomainName(zone)) throw new Error(`"${zone}" is not the canonical name of a zone`);
  return `${zone}.`;
}

/** The owner of an absolute name in a zone; undefined for a name outside of it. */
export function ownerOf(origin: string, name: string): string | undefined {
  if (name === origin) return apex;
  return name.endsWith(`.${origin}`) ? name.slice(0, -origin.length - 1) : undefined;
}

export function absoluteName(origin: string, owner: string): string {
  return owner === apex ? origin : `${owner}.${origin}`;
}

/** The owner above an owner; undefined above the apex. */
export function parentOf(owner: string): string | undefined {
  if (owner === apex) return undefined;
  const dot = owner.indexOf(".");
  return dot === -1 ? apex : owner.slice(dot + 1);
}

/** RFC 1035 §3.1, without compression. @param name absolute, canonical */
export function nameToWire(name: string): Buffer {
  const labels = name.split(".").filter((label) => label !== "");
  return Buffer.concat([...labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]), Buffer.of(0)]);
}

/** Reads an uncompressed name of our own. */
export function nameFromWire(bytes: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let offset = start;
  for (let length = bytes.readUInt8(offset); length > 0; length = bytes.readUInt8(offset)) {
    labels.push(bytes.toString("latin1", offset + 1, offset + 1 + length));
    offset += 1 + length;
  }
  return { name: `${labels.join(".")}.`, end: offset + 1 };
}

/** The zones that a name may be in, the longest first: itself and all names above it that two labels have. */
export function zoneNamesFor(name: string): string[] {
  const labels = name.split(".").filter((label) => label !== "");
  return labels.map((_label, index) => labels.slice(index).join(".")).filter(isDomainName);
}

/** The absolute text of a name in wire form, in lower case; bytes that our names cannot have are escaped. */
export function wireNameText(name: Buffer): string {
  const labels: string[] = [];
  for (let offset = 0; name[offset]! > 0; offset += 1 + name[offset]!) {
    const bytes = name.subarray(offset + 1, offset + 1 + name[offset]!);
    const label = bytes.toString("latin1").toLowerCase();
    labels.push(label.replace(/[^a-z0-9_*-]/g, (byte) => `\\${String(byte.charCodeAt(0)).padStart(3, "0")}`));
  }
  return `${labels.join(".")}.`;
}
