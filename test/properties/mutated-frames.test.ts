/** Frames that are spoiled: read or refused, and nothing else, whatever their bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { domainRestoreRequest } from "#registry/epp/commands/domain/restore.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import { pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { parseGreeting } from "#registry/epp/greeting.ts";
import { isGreeting, parseResponse } from "#registry/epp/response.ts";
import { writeXmlRedacted } from "#registry/epp/xml/writer.ts";
import { isElement, parseXml, type XmlElement, XmlError, xmlDepthMax, xmlElementsMax } from "#registry/epp/xml/xml.ts";
import { encodeFrame } from "../../sandbox/registry/framing.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { startFor } from "../../sandbox/registry/test/setup.ts";
import { parseXml as parseSandboxXml, XmlRefusedError } from "../../sandbox/registry/xml.ts";
import { answerReaders } from "../foreign/answer-readers.ts";
import { exampleFrames, spoiled } from "./mutations.ts";
import { seed } from "./seed.ts";

const commands: readonly EppCommand<unknown>[] = [
  ...Object.values(answerReaders).map(({ command }) => command("example.com")),
  domainRestoreRequest("example.com"),
  login(
    { registrarId: "ClientX", password: new Secret("foo-BAR2") },
    { objectURIs: [], extensionURIs: [], language: "en" },
  ),
  pollRequest(),
];

/** Elements in it, and how deep they go. */
function measure(root: XmlElement): { elements: number; depth: number } {
  const inner = root.children.filter(isElement).map(measure);
  return {
    elements: inner.reduce((sum, { elements }) => sum + elements, 1),
    depth: inner.reduce((deepest, { depth }) => Math.max(deepest, depth + 1), 1),
  };
}

/** Does what the client does with a frame. @returns whether it got as far as a greeting or a response */
function readAsClient(xml: string): boolean {
  const root = parseXml(xml);
  const { elements, depth } = measure(root);
  assert.ok(elements <= xmlElementsMax && depth <= xmlDepthMax);
  writeXmlRedacted(root);
  if (isGreeting(root)) return parseGreeting(root) !== undefined;
  const response = parseResponse(root);
  for (const command of commands) {
    try {
      command.parse(response.resData, response);
    } catch (error) {
      assert.ok(error instanceof XmlError, `${command.name}: ${error}`);
    }
  }
  return true;
}

function isRead(read: () => unknown, refusal: new (message: string) => Error): boolean {
  try {
    read();
    return true;
  } catch (error) {
    assert.ok(error instanceof refusal, `${error}`);
    return false;
  }
}

/** Text or nothing, as both sides decode a frame before they parse it. */
function decode(body: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

test("a spoiled frame is read within the limits or refused, by the client and by the sandbox", (context) => {
  const counts = { frames: 0, utf8: 0, byClient: 0, bySandbox: 0 };
  fc.assert(
    fc.property(spoiled(exampleFrames), (body) => {
      counts.frames += 1;
      const xml = decode(body);
      if (xml === undefined) return;
      counts.utf8 += 1;
      if (isRead(() => readAsClient(xml), XmlError)) counts.byClient += 1;
      if (isRead(() => parseSandboxXml(xml), XmlRefusedError)) counts.bySandbox += 1;
    }),
    { seed, numRuns: 3_000 },
  );
  context.diagnostic(JSON.stringify(counts));
  // Were nearly all refused at the first byte, nothing would be tested.
  assert.ok(counts.byClient > counts.frames / 10 && counts.byClient < counts.utf8);
});

/** What is too much, and behind it what is not XML: the limit must be noticed before the rest is read. */
const excesses: Readonly<Record<string, { xml: string; message: RegExp }>> = {
  "nested 100,000 deep": { xml: `${"<a>".repeat(100_000)}<<`, message: /nested deeper than 64/ },
  "of 100,000 elements": { xml: `<a>${"<b/>".repeat(100_000)}<<`, message: /more than 20000 elements/ },
  "of an element with 65 attributes": {
    xml: `<a${Array.from({ length: 65 }, (_, index) => ` a${index}=""`).join("")} <<`,
    message: /more than 64 attributes/,
  },
  "of an element with 65 prefixes": {
    xml: `<a${Array.from({ length: 65 }, (_, index) => ` xmlns:p${index}="urn:a"`).join("")} <<`,
    message: /more than 64 attributes/,
  },
  "of 501 namespaces": {
    xml: `<a>${'<b xmlns:p="urn:p"/>'.repeat(501)}<<`,
    message: /more than 500 namespaces/,
  },
  "with a DOCTYPE": { xml: '<!DOCTYPE a [<!ENTITY b "b">]><<', message: /DOCTYPE/ },
};

for (const [what, { xml, message }] of Object.entries(excesses)) {
  test(`a frame ${what} is refused before the rest of it is read`, () => {
    assert.throws(
      () => parseXml(xml),
      (error) => error instanceof XmlError && message.test(error.message),
    );
  });
}

test("the sandbox answers spoiled frames or closes, and serves on", async (context) => {
  const registry = await startFor(context, { suffixes: ["com", "example", "tld"] });
  const commandFrames = exampleFrames.filter((xml) => xml.includes("<command>") && !xml.includes("<login>"));
  const codes = new Map<number | "closed", number>();
  let client = await RawClient.login(registry);
  context.after(() => client.close());
  await fc.assert(
    fc.asyncProperty(spoiled(commandFrames), async (body) => {
      if (body.length === 0) return;
      client.socket.write(encodeFrame(body));
      const answer = await client.receive();
      const code = answer === undefined ? "closed" : Number(/<result code="(\d{4})"/.exec(answer)?.[1] ?? 0);
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (code !== "closed" && code !== 1500 && code !== 2501 && code !== 2502) return;
      client.close();
      client = await RawClient.login(registry);
    }),
    { seed, numRuns: 1_000 },
  );
  context.diagnostic(JSON.stringify(Object.fromEntries(codes)));
  client.close();
  const last = await RawClient.login(registry);
  context.after(() => last.close());
  assert.ok((codes.get(2001) ?? 0) > 100 && codes.size > 3);
});
