/** Random records and sets, as text that a user may write. */
import fc from "fast-check";
import type { RecordType } from "#dns/forms.ts";
import { quote } from "#dns/master-file.ts";

const label = fc.stringMatching(/^[a-z0-9](?:[a-z0-9]{0,12}[a-z0-9])?$/);
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => `${labels.join(".")}.test.`);
const name = fc.tuple(fc.constantFrom("", "_acme-challenge.", "_443._tcp."), host).map((parts) => parts.join(""));
const ipv4 = fc.ipV4();
const ipv6 = fc.ipV6();
const uint16 = fc.nat({ max: 65_535 });
const hexadecimal = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((digest) => Buffer.from(digest).toString("hex"));
const string = fc.uint8Array({ maxLength: 255 }).map((bytes) => quote(Buffer.from(bytes)));

const words = (...parts: fc.Arbitrary<string | number>[]) => fc.tuple(...parts).map((texts) => texts.join(" "));

const parameters = fc
  .record({
    alpn: fc.option(fc.subarray(["h2", "h3", "http/1.1"], { minLength: 1 })),
    port: fc.option(uint16),
    ipv4hint: fc.option(fc.array(ipv4, { minLength: 1, maxLength: 3 })),
    ipv6hint: fc.option(fc.array(ipv6, { minLength: 1, maxLength: 3 })),
    key667: fc.option(fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => quote(Buffer.from(bytes)))),
  })
  .map((values) => Object.entries(values).filter(([, value]) => value !== null))
  .chain((present) => fc.shuffledSubarray(present, { minLength: present.length }))
  .map((present) => present.map(([key, value]) => `${key}=${value}`).join(" "));
const svcb = fc.oneof(
  words(fc.constant(0), name),
  words(fc.integer({ min: 1, max: 65_535 }), fc.oneof(host, fc.constant(".")), parameters).map((text) => text.trim()),
);

/** The text of a record, for each type. */
export const recordTexts: Readonly<Record<RecordType, fc.Arbitrary<string>>> = {
  A: ipv4,
  AAAA: ipv6,
  CAA: fc.oneof(
    words(fc.constantFrom(0, 128), fc.constantFrom("issue", "issuewild"), fc.constantFrom('"ca.test; a=b"', '";"')),
    words(fc.constantFrom(0, 128), fc.constant("tag9"), string),
  ),
  CNAME: name,
  DS: fc.oneof(
    words(uint16, fc.constant(13), fc.constant(2), hexadecimal(32)),
    words(uint16, fc.constant(8), fc.constant(4), hexadecimal(48)),
  ),
  HTTPS: svcb,
  MX: fc.oneof(words(uint16, host), fc.constant("0 .")),
  NS: host,
  PTR: name,
  SRV: words(uint16, uint16, uint16, fc.oneof(host, fc.constant("."))),
  SSHFP: words(fc.constantFrom(1, 4, 6), fc.constant(2), hexadecimal(32)),
  SVCB: svcb,
  TLSA: words(fc.nat({ max: 3 }), fc.nat({ max: 1 }), fc.constant(2), hexadecimal(64)),
  TXT: fc.array(string, { minLength: 1, maxLength: 4 }).map((strings) => strings.join(" ")),
};

/** A set as a request may have it, for a zone without delegations. */
export const plainSets = fc
  .uniqueArray(
    fc.record({
      subname: fc.oneof(
        fc.constantFrom("@", "*", "*.deep.er"),
        label,
        fc.tuple(label, label).map((parts) => parts.join(".")),
      ),
      type: fc.constantFrom<RecordType[]>("A", "AAAA", "CAA", "HTTPS", "PTR", "SSHFP", "SVCB", "TLSA", "TXT"),
      ttl: fc.integer({ min: 60, max: 86_400 }),
    }),
    { selector: ({ subname, type }) => `${subname} ${type}`, maxLength: 12 },
  )
  .chain((heads) =>
    fc.tuple(...heads.map((head) => recordTexts[head.type].map((text) => Object.assign({ records: [text] }, head)))),
  );
