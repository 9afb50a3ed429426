/** For tests: parses the RFCs' example answers, and validates frames against the RFCs' schemas. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { EppCommand } from "#registry/epp/command.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import { parseResponse } from "#registry/epp/response.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { writeXml } from "#registry/epp/xml/writer.ts";
import { elementsOf, isElement, parseXml, type XmlElement } from "#registry/epp/xml/xml.ts";

const namespaces: Readonly<Record<string, string>> = {
  domain: "urn:ietf:params:xml:ns:domain-1.0",
  contact: "urn:ietf:params:xml:ns:contact-1.0",
  host: "urn:ietf:params:xml:ns:host-1.0",
  secDNS: "urn:ietf:params:xml:ns:secDNS-1.1",
  rgp: "urn:ietf:params:xml:ns:rgp-1.0",
  fee: "urn:ietf:params:xml:ns:epp:fee-1.0",
  loginSec: "urn:ietf:params:xml:ns:epp:loginSec-1.0",
};

const bindings = Object.entries(namespaces).map(([prefix, uri]) => `xmlns:${prefix}="${uri}"`);

export interface Answer {
  readonly code?: number;
  readonly resData?: string;
  readonly extension?: string;
  /** The XML between result and resData. */
  readonly head?: string;
}

/** A whole response; its parts use the RFCs' prefixes. */
function answerXml({ code = 1000, resData, extension, head = "" }: Answer): string {
  const part = (name: string, content: string | undefined) =>
    content === undefined ? "" : `<${name}>${content}</${name}>`;
  return `<epp xmlns="${eppNamespace}" ${bindings.join(" ")}><response><result code="${code}"><msg>said</msg></result>${head}${part("resData", resData)}${part("extension", extension)}<trID><clTRID>ABC-12345</clTRID><svTRID>54322-XYZ</svTRID></trID></response></epp>`;
}

/** The data that a command reads from an answer. */
export function read<Data>(command: EppCommand<Data>, answer: Answer): Data | undefined {
  return readXml(command, answerXml(answer));
}

/** As `read`, from a whole document. */
function readXml<Data>(command: EppCommand<Data>, xml: string): Data | undefined {
  const response = parseResponse(parseXml(xml));
  return command.parse(response.resData, response);
}

/** The frame of a command. */
export function frameOf(command: EppCommand<unknown>): string {
  return writeXml(command.frame("ABC-12345"));
}

/** Adds a test for each command. @param forms description → command */
export function followTheSchema(forms: Readonly<Record<string, EppCommand<unknown>>>): void {
  describe("follows the schema", () => {
    for (const [what, command] of Object.entries(forms)) {
      test(`${command.name}: ${what}`, async () => {
        const validate = await loadFrameValidator();
        validate(frameOf(command));
      });
    }
  });
}

/** Asserts that the frame equals an RFC's example, apart from prefixes and white space. */
export function assertSame(command: EppCommand<unknown>, example: string): void {
  assert.deepEqual(outline(parseXml(frameOf(command))), outline(parseXml(example)));
}

/**
 * Asserts that an answer is read in the same way when a registry writes it differently: with other prefixes, another order of
 * elements, comments, CDATA, white space and unknown elements.
 */
export function assertTolerant<Data>(command: EppCommand<Data>, answer: Answer): void {
  const expected = readXml(command, answerXml(answer));
  const strange = estrange(parseXml(answerXml(answer)));
  assert.deepEqual(readXml(command, strange), expected);
}

function outline(element: XmlElement): unknown {
  const texts = element.children.filter((child) => typeof child === "string").join("");
  return {
    name: `${element.namespace} ${element.name}`,
    attributes: Object.fromEntries(element.attributes),
    text: texts.trim(),
    children: element.children.filter(isElement).map(outline),
  };
}

const unknown = elementsOf("urn:example:unknown-1.0");

/** The same document in an unusual notation. */
function estrange(element: XmlElement): string {
  const attributes = [...element.attributes].map(([name, value]) => ` ${name}="  ${value} "`).join("");
  const inner = element.children.map((child) => {
    if (typeof child === "string") return child.trim() === "" ? child : ` <!-- c --><![CDATA[${child}]]> `;
    return isElement(child) ? estrange(child) : "";
  });
  const stranger = writeXml(unknown("name", [unknown("pw", ["x"])])).replace(/^<\?.*?\?>/, "");
  // Elements of one name keep their order, which is significant.
  const names = new Set(element.children.filter(isElement).map(({ name }) => name));
  const parts = names.size === element.children.length ? inner.toReversed() : inner;
  const content = element.children.some(isElement) ? `\n${stranger}${parts.join("\n")}` : parts.join("");
  return `<x:${element.name} xmlns:x="${element.namespace}"${attributes}>${content}</x:${element.name}>`;
}
