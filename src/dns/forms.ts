/** The types of records that a zone may have: text to RDATA and back. RDATA has names in lower case, without compression. */
import { parseIpv4, parseIpv6, printIpv4, printIpv6 } from "#dns/addresses.ts";
import { prefixed, RdataFields, TextFields } from "#dns/fields.ts";
import { bytesOf, quote } from "#dns/master-file.ts";
import { FormProblem, nameToWire, parseTarget } from "#dns/names.ts";
import { parseSvcb, printSvcb } from "#dns/svcb.ts";

interface Form {
  /** IANA's number of the type. */
  code: number;
  /** @throws FormProblem */
  parse(fields: TextFields): Buffer;
  print(fields: RdataFields): string;
}

/** Bytes of all strings of one record. */
const txtBytesMax = 4_096;
const stringBytesMax = 255;
/** RFC 1035 §2.3.4 and §3.2.1. */
const rdataBytesMax = 65_535;

const hexadecimal = (bytes: Buffer): string => bytes.toString("hex").toUpperCase();

/** Checks the length of a digest or a fingerprint. */
function checkBytes(bytes: Buffer, wanted: number | undefined, what: string, known: string): Buffer {
  if (wanted === undefined) throw new FormProblem(`The type of the ${what} is unknown: use ${known}.`);
  if (bytes.length !== wanted) throw new FormProblem(`A ${what} of this type has ${2 * wanted} hexadecimal digits.`);
  return bytes;
}

/** What is refused later by a resolver would be refused too late. */
function checkNumber(bytes: Buffer, allowed: readonly number[], what: string): Buffer {
  if (!allowed.includes(bytes[0]!)) throw new FormProblem(`The ${what} is one of ${allowed.join(", ")}.`);
  return bytes;
}

const oneName = (code: number, read: "name" | "host"): Form => ({
  code,
  parse: (fields) => nameToWire(fields[read]("name")),
  print: (fields) => fields.name(),
});

const mx: Form = {
  code: 15,
  parse(fields) {
    const preference = fields.number("preference", 2);
    const host = fields.next("host name");
    if (host !== ".")
      return Buffer.concat([preference, nameToWire(new TextFields([host], fields.origin).host("host"))]);
    if (preference.readUInt16BE() !== 0) throw new FormProblem('A null MX is written "0 ." (RFC 7505).');
    return Buffer.concat([preference, nameToWire(".")]);
  },
  print: (fields) => `${fields.number(2)} ${fields.name()}`,
};

const srv: Form = {
  code: 33,
  parse(fields) {
    const numbers = ["priority", "weight", "port"].map((what) => fields.number(what, 2));
    const target = fields.next("target");
    const host = target === "." ? "." : new TextFields([target], fields.origin).host("target");
    return Buffer.concat([...numbers, nameToWire(host)]);
  },
  print: (fields) => `${fields.number(2)} ${fields.number(2)} ${fields.number(2)} ${fields.name()}`,
};

const txt: Form = {
  code: 16,
  parse(fields) {
    const strings = fields.rest("text").map(bytesOf);
    if (strings.some(({ length }) => length > stringBytesMax)) {
      throw new FormProblem(`A quoted string has at most ${stringBytesMax} bytes: divide it into several.`);
    }
    if (strings.reduce((sum, { length }) => sum + length, 0) > txtBytesMax) {
      throw new FormProblem(`A text has at most ${txtBytesMax} bytes.`);
    }
    return Buffer.concat(strings.map((string) => prefixed(string, 1)));
  },
  print(fields) {
    const strings: string[] = [];
    while (!fields.isAtEnd) strings.push(quote(fields.string(1)));
    return strings.join(" ");
  },
};

/** RFC 4034 §5.3, RFC 4509, RFC 6605: those that Knot accepts. */
const dsDigestBytes = new Map([
  [1, 20],
  [2, 32],
  [4, 48],
]);

const ds: Form = {
  code: 43,
  parse(fields) {
    const head = [fields.number("key tag", 2), fields.number("algorithm", 1)];
    if (head[1]![0] === 0) throw new FormProblem("The algorithm 0 is not of a key.");
    const type = fields.number("digest type", 1);
    const digest = fields.hexadecimal("digest");
    return Buffer.concat([...head, type, checkBytes(digest, dsDigestBytes.get(type[0]!), "digest", "1, 2 or 4")]);
  },
  print: (fields) => `${fields.number(2)} ${fields.number(1)} ${fields.number(1)} ${hexadecimal(fields.rest())}`,
};

/** RFC 4255 §3.1.2, RFC 6594. */
const fingerprintBytes = new Map([
  [1, 20],
  [2, 32],
]);

const sshfp: Form = {
  code: 44,
  parse(fields) {
    // RFC 4255, RFC 6594, RFC 7479, RFC 8709.
    const algorithm = checkNumber(fields.number("algorithm", 1), [1, 2, 3, 4, 6], "algorithm");
    const type = fields.number("fingerprint type", 1);
    const fingerprint = fields.hexadecimal("fingerprint");
    const bytes = checkBytes(fingerprint, fingerprintBytes.get(type[0]!), "fingerprint", "1 or 2");
    return Buffer.concat([algorithm, type, bytes]);
  },
  print: (fields) => `${fields.number(1)} ${fields.number(1)} ${hexadecimal(fields.rest())}`,
};

/** RFC 6698 §2.1.3: 0 is the whole certificate or key. */
const associationBytes = new Map([
  [1, 32],
  [2, 64],
]);

const tlsa: Form = {
  code: 52,
  parse(fields) {
    const usage = checkNumber(fields.number("certificate usage", 1), [0, 1, 2, 3], "certificate usage");
    const selector = checkNumber(fields.number("selector", 1), [0, 1], "selector");
    const type = checkNumber(fields.number("matching type", 1), [0, 1, 2], "matching type");
    const data = fields.hexadecimal("association data");
    if (type[0] !== 0) checkBytes(data, associationBytes.get(type[0]!), "digest", "0, 1 or 2");
    return Buffer.concat([usage, selector, type, data]);
  },
  print: (fields) => `${fields.number(1)} ${fields.number(1)} ${fields.number(1)} ${hexadecimal(fields.rest())}`,
};

/** RFC 8659 §4.2: an issuer's name or nothing, and parameters. */
const issuerLabel = "[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*";
const issuerParameter = `[ \\t]*${issuerLabel}[ \\t]*=[ \\t]*[!-:<-~]*[ \\t]*`;
const issueValue = new RegExp(
  `^[ \\t]*(?:${issuerLabel}(?:\\.${issuerLabel})*)?[ \\t]*(?:;(?:${issuerParameter}(?:;${issuerParameter})*|[ \\t]*))?$`,
);

const caa: Form = {
  code: 257,
  parse(fields) {
    const flags = fields.number("flags", 1);
    const tag = fields.next("tag").toLowerCase();
    if (!/^[a-z0-9]{1,15}$/.test(tag)) throw new FormProblem("The tag is a word such as issue, issuewild or iodef.");
    const value = fields.string("value");
    const text = value.toString("latin1");
    if (/^issue(?:wild)?$/.test(tag) && !issueValue.test(text)) {
      throw new FormProblem(`The value of ${tag} is the name of an authority and parameters, or ";" (RFC 8659).`);
    }
    if (tag === "iodef" && !/^(?:mailto:|https?:\/\/)[!-~]+$/i.test(text)) {
      throw new FormProblem("The value of iodef is a URL that begins with mailto:, http:// or https://.");
    }
    return Buffer.concat([flags, prefixed(Buffer.from(tag), 1), value]);
  },
  print: (fields) => `${fields.number(1)} ${fields.string(1).toString("latin1")} ${quote(fields.rest())}`,
};

const svcb = (code: number): Form => ({ code, parse: parseSvcb, print: printSvcb });

const forms = {
  A: { code: 1, parse: (fields) => parseIpv4(fields.next("address")), print: (fields) => printIpv4(fields.rest()) },
  AAAA: { code: 28, parse: (fields) => parseIpv6(fields.next("address")), print: (fields) => printIpv6(fields.rest()) },
  CAA: caa,
  CNAME: oneName(5, "name"),
  DS: ds,
  HTTPS: svcb(65),
  MX: mx,
  NS: oneName(2, "host"),
  PTR: oneName(12, "name"),
  SRV: srv,
  SSHFP: sshfp,
  SVCB: svcb(64),
  TLSA: tlsa,
  TXT: txt,
} satisfies Record<string, Form>;

export type RecordType = keyof typeof forms;

export const recordTypes = Object.keys(forms) as readonly RecordType[];

export function isRecordType(type: string): type is RecordType {
  return Object.hasOwn(forms, type);
}

/** IANA's number of a type, of SOA too, which every zone has but nobody writes. */
export function typeCode(type: RecordType | "SOA"): number {
  return type === "SOA" ? 6 : forms[type].code;
}

/**
 * The RDATA of a record's tokens.
 * @param origin what names without the last dot are relative to; without it they are absolute
 * @throws FormProblem
 */
export function parseRdata(type: RecordType, tokens: readonly string[], origin?: string): Buffer {
  if (tokens[0] === "\\#") throw new FormProblem(`Write the record as ${type} is written, not as bytes with \\#.`);
  const fields = new TextFields(tokens, origin);
  const rdata = forms[type].parse(fields);
  fields.end();
  if (rdata.length > rdataBytesMax) throw new FormProblem(`A record has at most ${rdataBytesMax} bytes.`);
  return rdata;
}

/** The canonical text of RDATA that `parseRdata` has made. */
export function printRdata(type: RecordType, rdata: Buffer): string {
  return forms[type].print(new RdataFields(rdata));
}

/** SOA (RFC 1035 §3.3.13). @param text as `soaRecord` prints it */
export function soaRdata(text: string): Buffer {
  const [primary = "", hostmaster = "", ...numbers] = text.split(" ");
  const tail = Buffer.alloc(20);
  for (const [index, number] of numbers.entries()) tail.writeUInt32BE(Number(number), 4 * index);
  return Buffer.concat([nameToWire(parseTarget(primary)), nameToWire(parseTarget(hostmaster)), tail]);
}
