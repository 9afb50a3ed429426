/**
 * A scripted EPP server for tests: real TLS on a free port. By default it behaves well; a test makes it misbehave.
 */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { createServer } from "node:tls";
import { generate } from "selfsigned";
import { encodeFrame, FrameDecoder } from "#registry/epp/frame.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findText, isElement, parseXml } from "#registry/epp/xml/xml.ts";

export interface StandInRequest {
  /** "domain:create", "login", "poll:req", "hello"; "connect" when a client has just connected. */
  readonly name: string;
  readonly clTRID: string;
  readonly xml: string;
  /** The connection's number, beginning with 0. */
  readonly session: number;
}

export type StandInAnswer =
  | { readonly xml: string }
  | { readonly bytes: Buffer }
  /** The bytes of the frame one by one. */
  | { readonly dribble: string }
  /** The first half of the frame, then the end of the connection. */
  | { readonly half: string }
  | { readonly lateMs: number; readonly xml: string }
  | "silence"
  | "close";

export interface StandIn {
  readonly port: number;
  /** Everything the clients sent, in order. */
  readonly requests: StandInRequest[];
  /** The names that clients sent as SNI, in order; false for none. */
  readonly servernames: (string | false)[];
  /** The number of open connections. */
  readonly open: () => number;
  /** The number of connections that the client has reset. */
  readonly resets: () => number;
  /** Sends an unsolicited frame over a connection; false when that is closed. */
  send(session: number, xml: string): boolean;
  /** Closes every connection. */
  drop(): void;
  /** Decides what happens next; undefined means the default. */
  script: (request: StandInRequest) => StandInAnswer | undefined;
  close(): Promise<void>;
}

export interface StandInCertificate {
  readonly cert: string;
  readonly key: string;
}

type AltName = { type: 2; value: string } | { type: 7; ip: string };

/**
 * A self-signed certificate.
 * @param commonName distinguishes authorities @param bears the name or address that it is for
 */
export async function createCertificate(
  commonName = "localhost",
  bears: AltName = { type: 2, value: "localhost" },
  valid: { from?: Date; until?: Date } = {},
): Promise<StandInCertificate> {
  const made = await generate([{ name: "commonName", value: commonName }], {
    notBeforeDate: valid.from,
    notAfterDate: valid.until,
    keyType: "ec",
    algorithm: "sha256",
    extensions: [{ name: "subjectAltName", altNames: [bears] }],
  });
  return { cert: made.cert, key: made.private };
}

export interface StandInOptions {
  readonly certificate: StandInCertificate;
  /** PEM: only clients with a certificate of this authority are accepted. */
  readonly clientCa?: string;
  readonly maxVersion?: "TLSv1.1" | "TLSv1.2" | "TLSv1.3";
}

export async function startStandIn({ certificate, clientCa, maxVersion }: StandInOptions): Promise<StandIn> {
  const sockets = new Set<TLSSocket>();
  const connections: TLSSocket[] = [];
  let resets = 0;
  const server = createServer({
    ...certificate,
    ...(clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true }),
    ...(maxVersion === undefined ? {} : { maxVersion, minVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" }),
  });
  const standIn: StandIn = {
    get port() {
      return (server.address() as AddressInfo).port;
    },
    requests: [],
    servernames: [],
    open: () => sockets.size,
    resets: () => resets,
    send: (session, xml) => {
      const socket = connections[session];
      return socket?.writable === true && socket.write(encodeFrame(xml));
    },
    drop: () => {
      for (const socket of sockets) socket.destroy();
    },
    script: () => undefined,
    close: async () => {
      standIn.drop();
      server.close();
      await once(server, "close");
    },
  };
  server.on("secureConnection", (socket) => {
    sockets.add(socket);
    standIn.servernames.push(socket.servername || false);
    socket.on("close", () => sockets.delete(socket));
    // A client that is tested for hanging up resets the connection now and then.
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNRESET") resets += 1;
      socket.destroy();
    });
    serve(standIn, socket, connections.push(socket) - 1);
  });
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return standIn;
}

function serve(standIn: StandIn, socket: TLSSocket, session: number): void {
  const decoder = new FrameDecoder();
  const react = (request: StandInRequest) => {
    standIn.requests.push(request);
    send(socket, standIn.script(request) ?? politeAnswer(request));
  };
  react({ name: "connect", clTRID: "", xml: "", session });
  socket.on("data", (chunk: Buffer) => {
    for (const body of decoder.push(chunk)) react({ ...describe(body.toString()), session });
  });
}

async function send(socket: TLSSocket, answer: StandInAnswer): Promise<void> {
  if (answer === "silence") return;
  if (answer === "close") return void socket.end();
  if ("bytes" in answer) return void socket.write(answer.bytes);
  if ("half" in answer) {
    const frame = encodeFrame(answer.half);
    return void socket.end(frame.subarray(0, frame.length / 2));
  }
  if ("dribble" in answer) {
    for (const byte of encodeFrame(answer.dribble)) socket.write(Buffer.of(byte));
    return;
  }
  if ("lateMs" in answer) await delay(answer.lateMs);
  if (socket.writable) socket.write(encodeFrame(answer.xml));
}

function describe(xml: string): Pick<StandInRequest, "name" | "clTRID" | "xml"> {
  const command = findChild(parseXml(xml), eppNamespace, "command");
  if (!command) return { name: "hello", clTRID: "", xml };
  const verb = command.children.find(isElement) as XmlElement;
  const object = verb.children.find(isElement);
  const prefix = /([a-z]+)-1\.0$/.exec(object?.namespace ?? "")?.[1];
  const op = verb.attributes.get("op");
  const name = prefix && prefix !== "epp" ? `${prefix}:${verb.name}` : op ? `${verb.name}:${op}` : verb.name;
  return { name, clTRID: findText(command, eppNamespace, "clTRID") ?? "", xml };
}

function politeAnswer({ name, clTRID, xml }: StandInRequest): StandInAnswer {
  if (name === "connect" || name === "hello") return { xml: greetingXml };
  if (name === "logout") return { xml: responseXml(1500, clTRID) };
  if (name === "poll:req") return { xml: responseXml(1300, clTRID) };
  if (name === "domain:check") return { xml: responseXml(1000, clTRID, availabilityXml(nameIn(xml), true)) };
  if (name === "domain:create") {
    const data = `<domain:creData xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>${nameIn(xml)}</domain:name><domain:crDate>2026-01-02T03:04:05.0Z</domain:crDate><domain:exDate>2027-01-02T03:04:05.0Z</domain:exDate></domain:creData>`;
    return { xml: responseXml(1000, clTRID, data) };
  }
  return { xml: responseXml(name === "login" || name === "poll:ack" ? 1000 : 2303, clTRID) };
}

function nameIn(xml: string): string {
  return /<domain:name>([^<]*)</.exec(xml)?.[1] ?? "";
}

const domainUri = "urn:ietf:params:xml:ns:domain-1.0";

/** A `<greeting>` that offers these objects and extensions. */
export function offerXml(
  objectURIs: readonly string[],
  extensionURIs: readonly string[] = [],
  language = "en",
): string {
  const elements = (name: string, texts: readonly string[]) =>
    texts.map((text) => `<${name}>${text}</${name}>`).join("");
  const extensions =
    extensionURIs.length > 0 ? `<svcExtension>${elements("extURI", extensionURIs)}</svcExtension>` : "";
  return `<?xml version="1.0" encoding="UTF-8" standalone="no"?><epp xmlns="${eppNamespace}"><greeting><svID>Stand-in</svID><svDate>2026-01-02T03:04:05.0Z</svDate><svcMenu><version>1.0</version><lang>${language}</lang>${elements("objURI", objectURIs)}${extensions}</svcMenu><dcp><access><all/></access><statement><purpose><prov/></purpose><recipient><ours/></recipient><retention><stated/></retention></statement></dcp></greeting></epp>`;
}

export const greetingXml = offerXml([domainUri]);

/** A `<domain:chkData>` about one name. */
export function availabilityXml(name: string, isAvailable: boolean, reason?: string): string {
  const why = reason === undefined ? "" : `<d:reason>${reason}</d:reason>`;
  return `<d:chkData xmlns:d="urn:ietf:params:xml:ns:domain-1.0"><d:cd><d:name avail="${isAvailable ? 1 : 0}">${name}</d:name>${why}</d:cd></d:chkData>`;
}

/** A whole `<response>`. @param head what goes between result and resData, such as `<msgQ>` */
export function responseXml(code: number, clTRID: string, resData?: string, head = ""): string {
  const data = resData === undefined ? "" : `<resData>${resData}</resData>`;
  return `<epp xmlns="${eppNamespace}"><response><result code="${code}"><msg>said the stand-in</msg></result>${head}${data}<trID><clTRID>${clTRID}</clTRID><svTRID>sv-1</svTRID></trID></response></epp>`;
}
