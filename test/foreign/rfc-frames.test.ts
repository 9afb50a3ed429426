/** The example frames that the RFCs print: what their authors call EPP, our parsers, schemas and sandbox must read. */
import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import { pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { isGreeting, parseResponse } from "#registry/epp/response.ts";
import { EppFrameInvalid, loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { isElement, parseXml } from "#registry/epp/xml/xml.ts";
import { findSchemaFault } from "../../sandbox/registry/schema.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { startFor } from "../../sandbox/registry/test/setup.ts";
import { type AnswerReader, answerReaders } from "./answer-readers.ts";
import { noXmllint, xmllintFaults } from "./xmllint.ts";

const folder = join(import.meta.dirname, "../vectors/rfc-frames");

const placeholder = "its object is of the placeholder namespace obj, which has no schema";
const elided = "parts of it are left out, with ... in their place";

/** The examples that are not valid EPP, and why. */
const invalid: Readonly<Record<string, string>> = {
  "rfc5730/2.5-info-command.xml": placeholder,
  "rfc5730/2.6-response-cre-data.xml": placeholder,
  "rfc5730/2.7.1-extension.xml": "it is printed without the namespace of EPP",
  "rfc5730/2.9.2.1-check-command.xml": placeholder,
  "rfc5730/2.9.2.1-response-chk-data.xml": placeholder,
  "rfc5730/2.9.2.2-info-command.xml": placeholder,
  "rfc5730/2.9.2.2-response-inf-data.xml": placeholder,
  "rfc5730/2.9.2.3-response-trn-data.xml": placeholder,
  "rfc5730/2.9.2.4-response-trn-data.xml": placeholder,
  "rfc5730/2.9.2.4-transfer-command.xml": placeholder,
  "rfc5730/2.9.3.1-create-command.xml": placeholder,
  "rfc5730/2.9.3.1-response-cre-data.xml": placeholder,
  "rfc5730/2.9.3.2-delete-command.xml": placeholder,
  "rfc5730/2.9.3.3-renew-command.xml": placeholder,
  "rfc5730/2.9.3.3-response-ren-data.xml": placeholder,
  "rfc5730/2.9.3.4-response-trn-data.xml": placeholder,
  "rfc5730/2.9.3.4-transfer-command.xml": placeholder,
  "rfc5730/2.9.3.5-update-command.xml": placeholder,
  "rfc5910/5.2.5-update-command-5.xml": "it shows secDNS-1.0, which secDNS-1.1 replaces",
  "rfc8334/2.5-response-inf-data.xml": elided,
  "rfc8334/3.2-response-inf-data.xml": elided,
  "rfc8334/3.3.1-create-command-2.xml": elided,
  "rfc8334/3.3.1-create-command-3.xml": elided,
  "rfc8334/3.3.1-create-command-4.xml": elided,
  "rfc8334/3.3.4-create-command.xml": elided,
};

const examplesCount = 157;

const paths = globSync("*/*.xml", { cwd: folder }).sort();
const examples = await Promise.all(
  paths.map(async (path) => ({ path, xml: await readFile(join(folder, path), "utf8") })),
);
const isValid = ({ path }: { path: string }) => invalid[path] === undefined;

/** The text of the first element of that name, without the white space around it: read without any XML parser. */
function textIn(xml: string, local: string): string | undefined {
  return new RegExp(`<(?:\\w+:)?${local}(?:\\s[^>]*)?>\\s*([^<]*?)\\s*<`).exec(xml)?.[1];
}

function assertRefuses(refused: readonly string[], judge: string, accepted: readonly string[] = []): void {
  const expected = Object.keys(invalid).filter((path) => !accepted.includes(path));
  assert.deepEqual(refused, expected.sort(), `what ${judge} refuses`);
}

/** The client sends what it has no schema for, in a command's extension only: a profile may say so. */
const withUnknownExtension = ["rfc5910/5.2.5-update-command-5.xml"];

test("the schemas accept every example of the RFCs but those known to be no EPP", async () => {
  assert.equal(examples.length, examplesCount);
  const validate = await loadFrameValidator();
  const refused = examples.filter(({ xml }) => {
    try {
      return validate(xml) !== undefined;
    } catch (error) {
      assert.ok(error instanceof EppFrameInvalid, String(error));
      return true;
    }
  });
  assertRefuses(
    refused.map(({ path }) => path),
    "the client's validator",
    withUnknownExtension,
  );
  assertRefuses(
    examples.filter(({ xml }) => findSchemaFault(xml) !== undefined).map(({ path }) => path),
    "the sandbox's validator",
  );
});

test("xmllint accepts the same examples of the RFCs as we do", { skip: noXmllint }, async () => {
  const faults = await xmllintFaults(examples.map(({ xml }) => xml));
  assertRefuses([...faults.keys()].map((index) => examples[index]?.path ?? "").sort(), "xmllint");
});

function assertReads(xml: string, { command, fields }: AnswerReader, path: string): void {
  const response = parseResponse(parseXml(xml));
  const id = textIn(xml.slice(xml.indexOf("<resData>")), "(?:name|id)") ?? "";
  const data = command(id).parse(response.resData, response) as Record<string, unknown>;
  for (const [field, element] of Object.entries(fields)) {
    const text = textIn(xml, element);
    const value = data[field];
    if (value instanceof Date) assert.equal(value.getTime(), Date.parse(text ?? ""), `${path}: ${field}`);
    else assert.equal(value, text, `${path}: ${field}`);
  }
}

/** "domain-1.0 infData": what the response brings, if anything. */
function kindOf(xml: string): string | undefined {
  const data = parseResponse(parseXml(xml)).resData?.children.find(isElement);
  return data && `${data.namespace.split(":").at(-1)} ${data.name}`;
}

const responses = examples.filter(isValid).filter(({ xml }) => xml.includes("<response>"));

for (const { path, xml } of responses) {
  test(`the client reads the response of ${path.replace(".xml", "")}`, () => {
    const response = parseResponse(parseXml(xml));
    assert.equal(String(response.code), /<result code="(\d+)"/.exec(xml)?.[1]);
    const ids = xml.slice(xml.lastIndexOf("<trID>"));
    assert.deepEqual([response.clTRID, response.svTRID], [textIn(ids, "clTRID"), textIn(ids, "svTRID")]);
    const reader = answerReaders[kindOf(xml) ?? ""];
    if (reader) assertReads(xml, reader, path);
    if (response.code !== 1301) return;
    const message = pollRequest().parse(response.resData, response);
    assert.equal(message?.id, /<msgQ [^>]*id="(\d+)"/.exec(xml)?.[1]);
    assert.equal(String(message?.count), /<msgQ [^>]*count="(\d+)"/.exec(xml)?.[1]);
    assert.equal(message?.panData?.name, /<\w+:(?:name|id) paResult="1">([^<]*)/.exec(xml)?.[1]);
  });
}

test("the client reads answers of every kind that the examples have and it has a command for", () => {
  const kinds = new Set(responses.map(({ xml }) => kindOf(xml)));
  for (const kind of Object.keys(answerReaders)) assert.ok(kinds.has(kind), kind);
});

const responseOf = (path: string) => {
  const xml = examples.find((example) => example.path === path)?.xml ?? "";
  return { xml, response: parseResponse(parseXml(xml)) };
};

test("the client reads the fees of RFC 8748's example of a check", () => {
  const { response } = responseOf("rfc8748/5.1.1-response-chk-data.xml");
  const read = (name: string) => domainCheck(name).parse(response.resData, response)?.fees;
  assert.deepEqual(
    read("example.com")?.prices.map(({ command, periodYears, amount }) => [command, periodYears, amount]),
    [
      ["create", 2, "10.00"],
      ["renew", 1, "10.00"],
      ["transfer", 1, "10.00"],
      ["restore", undefined, "15.00"],
    ],
  );
  assert.deepEqual([read("example.com")?.currency, read("example.com")?.class], ["USD", "Premium"]);
  assert.ok(read("example.net")?.prices.every(({ isStandard }) => isStandard));
  // A price that is not told does not make the name taken.
  const { available, fees } = domainCheck("example.xyz").parse(response.resData, response) ?? {};
  assert.deepEqual([available, fees?.prices.map(({ amount }) => amount)], [true, [undefined]]);
});

test("the client reads the keys of RFC 5910's examples of an info", () => {
  const read = (path: string) => {
    const { response } = responseOf(path);
    return domainInfo("example.com").parse(response.resData, response)?.secDns;
  };
  const key = { flags: 257, protocol: 3, alg: 1, pubKey: "AQPJ////4Q==" };
  const dsData = { keyTag: 12345, alg: 3, digestType: 1, digest: "49FD46E6C4B45C55D4AC" };
  assert.deepEqual(read("rfc5910/5.1.2-response-inf-data.xml"), { dsData: [dsData] });
  assert.deepEqual(read("rfc5910/5.1.2-response-inf-data-2.xml"), {
    maxSigLifeSeconds: 604_800,
    dsData: [{ ...dsData, keyData: key }],
  });
  assert.deepEqual(read("rfc5910/5.1.2-response-inf-data-3.xml"), { keyData: [key] });
});

test("the client reads the events of RFC 8807's examples of a login", () => {
  const services = { objectURIs: [], extensionURIs: [], language: "en" };
  const command = login({ registrarId: "ClientX", password: new Secret("foo-BAR2") }, services);
  for (const path of paths.filter((name) => name.startsWith("rfc8807/4.1-response"))) {
    const { xml, response } = responseOf(path);
    const attributes = (name: string) =>
      [...xml.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g"))].map(([, text]) => text);
    const events = command.parse(response.resData, response) ?? [];
    assert.deepEqual(
      events.map(({ type }) => type),
      attributes("type"),
      path,
    );
    assert.deepEqual(
      events.map(({ level }) => level),
      attributes("level"),
      path,
    );
  }
});

test("the client takes the example of a greeting for one", () => {
  const greetings = examples.filter(({ xml }) => xml.includes("<greeting>"));
  assert.deepEqual(
    greetings.map(({ xml }) => isGreeting(parseXml(xml))),
    [true],
  );
});

test("the sandbox reads every example of a command, and refuses as unreadable only those that are no EPP", async (context) => {
  const registry = await startFor(context, { suffixes: ["com", "example"] });
  const commands = examples.filter(({ xml }) => xml.includes("<command>"));
  assert.ok(commands.length > 50, `${commands.length} commands`);
  for (const example of commands) {
    const { path, xml } = example;
    const isLogin = xml.includes("<login>");
    const client = isLogin ? await RawClient.connect(registry.port, registry.caFile) : await RawClient.login(registry);
    if (isLogin) await client.receive();
    const { code, clTRID, svTRID } = await client.ask(xml);
    client.close();
    // What the sandbox does not serve has codes of its own, before any validation (RFC 5730 §3).
    const isForeign = /"(urn:ietf:params:xml:ns:)?(obj|launch-1.0|secDNS-1.0)"/.test(xml);
    if (isForeign) assert.ok([2103, 2307].includes(code), `${path}: ${code}`);
    else assert.equal(code === 2001, !isValid(example), `${path}: ${code}`);
    assert.notEqual(code, 2000, path);
    assert.equal(clTRID, textIn(xml, "clTRID"), path);
    const [entry] = registry.store.journal.entries().filter((line) => line.svTRID === svTRID);
    const verb = /<command>\s*(?:<!--.*?-->\s*)?<(\w+)/s.exec(xml)?.[1] ?? "";
    assert.equal(entry?.direction, "in", path);
    assert.match(entry?.command ?? "", new RegExp(`(^|:)${verb}(:|$)`), path);
  }
});

test("the sandbox answers the example of a hello with a greeting", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  context.after(() => client.close());
  await client.receive();
  client.send(examples.find(({ xml }) => xml.includes("<hello/>"))?.xml ?? "");
  assert.equal(isGreeting(parseXml((await client.receive()) ?? "")), true);
});
