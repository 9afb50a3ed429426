/** A record as /v2 shows it: its content without the last dot, and the numbers of MX and SRV beside it. */
import Type, { type Static } from "typebox";
import { bytesOf, tokensOf } from "#dns/master-file.ts";
import { invalidField } from "#errors.ts";
import { textLike } from "#use-case/docs.ts";
import type { StoredSet, ZoneRow } from "#zones/rows.ts";

const nullable = <Shape extends Parameters<typeof Type.Union>[0][number]>(shape: Shape, example: unknown) =>
  Type.Union([shape, Type.Null()], { examples: [example] });
const number = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: 65_535, description, examples: [example] });

export const recordShape = Type.Object(
  {
    id: textLike("14"),
    type: textLike("A"),
    record_name: Type.String({ description: "`@` is the name itself.", examples: ["www"] }),
    ttl: Type.Integer({ examples: [3600] }),
    content: nullable(Type.String(), "192.0.2.1"),
    priority: nullable(Type.Integer(), null),
    service: nullable(Type.String(), null),
    weight: nullable(Type.Integer(), null),
    target: nullable(Type.String(), null),
    protocol: nullable(Type.String(), null),
    port: nullable(Type.Integer(), null),
  },
  { title: "DnsRecord" },
);

/** Of a request. */
export const recordFields = {
  type: Type.Optional(Type.String({ examples: ["A"] })),
  record_name: Type.Optional(Type.String({ description: "Empty or `@`: the name itself.", examples: ["www"] })),
  ttl: Type.Optional(Type.Integer({ examples: [3600] })),
  content: Type.Optional(Type.String({ description: "TXT is raw text. SRV has none.", examples: ["192.0.2.1"] })),
  priority: Type.Optional(number("Of MX (default 10) and SRV.", 10)),
  service: Type.Optional(Type.String({ description: "Of SRV.", examples: ["_sip"] })),
  weight: Type.Optional(number("Of SRV.", 0)),
  target: Type.Optional(Type.String({ description: "Of SRV.", examples: ["sip.hello.example"] })),
  protocol: Type.Optional(Type.String({ description: "Of SRV.", examples: ["TCP"] })),
  port: Type.Optional(number("Of SRV.", 5060)),
};
const input = Type.Object(recordFields);

export interface DnsRecord {
  id: string;
  owner: string;
  type: string;
  ttl: number;
  /** Canonical. */
  text: string;
  isManaged?: boolean;
}

const apexTtlSeconds = 3_600;

/** The records of a zone, without SOA. */
export function recordsOf({ name_servers }: ZoneRow, sets: readonly StoredSet[]): DnsRecord[] {
  const apex = name_servers.map((server, index) => ({
    id: String(index + 1),
    owner: "@",
    type: "NS",
    ttl: apexTtlSeconds,
    text: `${server}.`,
    isManaged: true,
  }));
  const others = sets.flatMap(({ owner, type, ttl, records, ids, source }) =>
    records.map((text, index) => ({ id: ids[index]!, owner, type, ttl, text, isManaged: source !== "user" })),
  );
  return [...apex, ...others];
}

const withoutDot = (name: string) => (name === "." ? name : name.replace(/\.$/, ""));
const withoutNumbers = { priority: null, service: null, weight: null, target: null, protocol: null, port: null };
const serviceOwner = /^(_[^.]+)\._(tcp|udp|tls|sctp)(?:\.(.+))?$/;

/** A record in the fields of its type; those of other types are null. */
export function presentRecord({ id, owner, type, ttl, text }: DnsRecord): Static<typeof recordShape> {
  const record = { id, type, record_name: owner, ttl, content: text, ...withoutNumbers };
  const tokens = text.split(" ");
  switch (type) {
    case "CNAME":
    case "NS":
    case "PTR":
      return { ...record, content: withoutDot(text) };
    case "MX":
      return { ...record, content: withoutDot(tokens[1]!), priority: Number(tokens[0]) };
    case "TXT":
      return { ...record, content: rawText(text) };
    case "SRV": {
      const [priority, weight, port, target] = tokens;
      const [, service = null, protocol, below = "@"] = serviceOwner.exec(owner) ?? [];
      return {
        ...record,
        ...(service !== null && { record_name: below }),
        content: null,
        service,
        protocol: protocol?.toUpperCase() ?? null,
        priority: Number(priority),
        weight: Number(weight),
        port: Number(port),
        target: withoutDot(target!),
      };
    }
    default:
      return record;
  }
}

/** What is no text, or would be read as a quoted one, stays as it is in a zone file. */
function rawText(canonical: string): string {
  const bytes = Buffer.concat(tokensOf(canonical).map(bytesOf));
  const text = bytes.toString();
  return text.startsWith('"') || text === "" || !Buffer.from(text).equals(bytes) ? canonical : text;
}

const priorityDefault = 10;

/** What a request says, as a zone file has it. @throws ApiError `bad_request` */
export function textOf(given: Static<typeof input> & { type: string }): { subname: string; text: string } {
  const type = given.type.toUpperCase();
  const subname = given.record_name === undefined || given.record_name === "" ? "@" : given.record_name;
  if (type === "SRV") return serviceText(given, subname);
  const { content, priority = priorityDefault } = given;
  if (content === undefined || content === "") throw invalidField("content", "Give the record's content.");
  if (type === "MX") return { subname, text: `${priority} ${content}` };
  return { subname, text: content };
}

function serviceText(given: Static<typeof input>, subname: string): { subname: string; text: string } {
  const { service, protocol, target, port, priority = 0, weight = 0 } = given;
  if (service === undefined) throw invalidField("service", "Give the service of the SRV record, such as _sip.");
  if (protocol === undefined) throw invalidField("protocol", "Give the protocol of the SRV record: TCP or UDP.");
  if (target === undefined) throw invalidField("target", "Give the host of the SRV record.");
  if (port === undefined) throw invalidField("port", "Give the port of the SRV record.");
  const labels = [service, protocol].map((label) => `_${label.replace(/^_/, "").toLowerCase()}`).join(".");
  return {
    subname: subname === "@" ? labels : `${labels}.${subname}`,
    text: `${priority} ${weight} ${port} ${target}`,
  };
}
