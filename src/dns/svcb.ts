/** SVCB and HTTPS (RFC 9460). */
import { parseIpv4, parseIpv6, printIpv4, printIpv6 } from "#dns/addresses.ts";
import { prefixed, type RdataFields, type TextFields } from "#dns/fields.ts";
import { bytesOf, quote } from "#dns/master-file.ts";
import { FormProblem, nameToWire, parseHost, parseTarget } from "#dns/names.ts";

/** Parameters that Knot 3.2 and BIND 9.18 know by name; others are written keyNNNNN. */
const keyNames = ["mandatory", "alpn", "no-default-alpn", "port", "ipv4hint", "ech", "ipv6hint"];
/** RFC 9461: BIND checks it, and Knot knows only its number. */
const dohpathKey = 7;
/** RFC 9460 §14.3.2 reserves 65535. */
const keyMax = 65_534;

interface Value {
  parse(bytes: Buffer): Buffer;
  print(bytes: Buffer): string;
}

const listOf = (bytes: Buffer, what: string): string[] => {
  const items = bytes.toString("latin1").split(",");
  if (items.includes(""))
    throw new FormProblem(`The parameter ${what} is a list: put a comma between two of its items.`);
  return items;
};

const chunks = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: bytes.length / size }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

const mandatory: Value = {
  parse(bytes) {
    const keys = listOf(bytes, "mandatory")
      .map(parseKey)
      .sort((one, other) => one - other);
    if (keys[0] === 0) throw new FormProblem("The parameter mandatory does not list itself.");
    if (new Set(keys).size < keys.length) throw new FormProblem("The parameter mandatory lists a key twice.");
    return Buffer.concat(keys.map(uint16));
  },
  print: (bytes) =>
    chunks(bytes, 2)
      .map((key) => printKey(key.readUInt16BE()))
      .join(","),
};

const alpn: Value = {
  parse(bytes) {
    const protocols = listOf(bytes, "alpn");
    for (const protocol of protocols) {
      // RFC 9460 §7.1.1 lets a zone file do without the second level of escapes that , and \ would need.
      if (!/^[!-~]{2,255}$/.test(protocol) || /["\\]/.test(protocol)) {
        throw new FormProblem(
          'A protocol in alpn has 2 to 255 printable characters, such as h2, but no comma, " or \\.',
        );
      }
    }
    return Buffer.concat(protocols.map((protocol) => prefixed(Buffer.from(protocol), 1)));
  },
  print(bytes) {
    const protocols: string[] = [];
    for (let rest = bytes; rest.length > 0; rest = rest.subarray(rest[0]! + 1)) {
      protocols.push(rest.toString("latin1", 1, rest[0]! + 1));
    }
    return protocols.join(",");
  },
};

const noDefaultAlpn: Value = {
  parse(bytes) {
    if (bytes.length > 0) throw new FormProblem("The parameter no-default-alpn has no value.");
    return bytes;
  },
  print: () => "",
};

const port: Value = {
  parse(bytes) {
    const text = bytes.toString("latin1");
    if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new FormProblem("A port is a number from 0 to 65535.");
    return uint16(Number(text));
  },
  print: (bytes) => String(bytes.readUInt16BE()),
};

const ipv4hint: Value = {
  parse: (bytes) => Buffer.concat(listOf(bytes, "ipv4hint").map(parseIpv4)),
  print: (bytes) => chunks(bytes, 4).map(printIpv4).join(","),
};

const ipv6hint: Value = {
  parse: (bytes) => Buffer.concat(listOf(bytes, "ipv6hint").map(parseIpv6)),
  print: (bytes) => chunks(bytes, 16).map(printIpv6).join(","),
};

const ech: Value = {
  parse(bytes) {
    const text = bytes.toString("latin1");
    const value = Buffer.from(text, "base64");
    if (value.length === 0 || value.toString("base64") !== text) throw new FormProblem("The parameter ech is base64.");
    return value;
  },
  print: (bytes) => bytes.toString("base64"),
};

const values: readonly Value[] = [mandatory, alpn, noDefaultAlpn, port, ipv4hint, ech, ipv6hint];

function uint16(number: number): Buffer {
  return Buffer.of(number >> 8, number & 255);
}

function printKey(key: number): string {
  return keyNames[key] ?? `key${key}`;
}

function parseKey(text: string): number {
  const name = text.toLowerCase();
  if (name === "dohpath") return dohpathKey;
  const known = keyNames.indexOf(name);
  if (known !== -1) return known;
  const [, digits] = /^key(0|[1-9]\d{0,4})$/.exec(name) ?? [];
  if (digits === undefined) throw new FormProblem("A parameter is unknown: write it as keyNNNNN, with its number.");
  if (Number(digits) > keyMax) throw new FormProblem("There is no parameter key65535 or above.");
  if (keyNames[Number(digits)]) throw new FormProblem(`Write key${digits} by its name, ${keyNames[Number(digits)]}.`);
  return Number(digits);
}

function parseParameter(token: string): { key: number; value: Buffer } {
  if (token.startsWith('"')) throw new FormProblem("A parameter is written key=value; only the value is in quotes.");
  const equals = token.indexOf("=");
  const key = parseKey(equals === -1 ? token : token.slice(0, equals));
  const value = equals === -1 ? Buffer.alloc(0) : bytesOf(token.slice(equals + 1));
  if (key === dohpathKey && !/^\/[!-~]*\{\?dns\}[!-~]*$/.test(value.toString("latin1"))) {
    throw new FormProblem("The parameter dohpath is a path with {?dns} in it.");
  }
  return { key, value: values[key]?.parse(value) ?? value };
}

function printParameter(key: number, value: Buffer): string {
  const known = values[key];
  if (known) return known === noDefaultAlpn ? printKey(key) : `${printKey(key)}=${known.print(value)}`;
  return value.length === 0 ? printKey(key) : `${printKey(key)}=${quote(value)}`;
}

function checkParameters(parameters: readonly { key: number; value: Buffer }[]): void {
  const keys = parameters.map(({ key }) => key);
  if (new Set(keys).size < keys.length) throw new FormProblem("A parameter is written twice.");
  const needed = chunks(parameters.find(({ key }) => key === 0)?.value ?? Buffer.alloc(0), 2);
  for (const key of needed) {
    if (!keys.includes(key.readUInt16BE()))
      throw new FormProblem("The parameter mandatory lists one that is not here.");
  }
  if (keys.includes(2) && !keys.includes(1)) throw new FormProblem("The parameter no-default-alpn needs alpn.");
}

/** @throws FormProblem */
export function parseSvcb(fields: TextFields): Buffer {
  const priority = fields.number("priority", 2);
  const isAlias = priority.readUInt16BE() === 0;
  const text = fields.next("target");
  const target = isAlias || text === "." ? parseTarget(text, fields.origin) : parseHost(text, fields.origin);
  const parameters = fields.others().map(parseParameter);
  // RFC 9460 §2.4.2: a resolver ignores the parameters of an alias.
  if (isAlias && parameters.length > 0) throw new FormProblem("A record with priority 0 has no parameters.");
  checkParameters(parameters);
  const inOrder = parameters.sort((one, other) => one.key - other.key);
  const written = inOrder.map(({ key, value }) => Buffer.concat([uint16(key), prefixed(value, 2)]));
  return Buffer.concat([priority, nameToWire(target), ...written]);
}

export function printSvcb(fields: RdataFields): string {
  const words = [String(fields.number(2)), fields.name()];
  while (!fields.isAtEnd) words.push(printParameter(fields.number(2), fields.string(2)));
  return words.join(" ");
}
