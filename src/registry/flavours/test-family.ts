/** For tests: a registry of a family, which answers with the frames in `frames/<family>/`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { ContactCreateRequest } from "#registry/epp/commands/contact/create.ts";
import { startFixture } from "#registry/epp/pool/test-pool.ts";
import { createCertificate } from "#registry/epp/test-stand-in-server.ts";
import { isElement, parseXml, textOf, type XmlElement } from "#registry/epp/xml/xml.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import { completeProfile, type RegistryEntry } from "#registry/registries.ts";

const waitMs = 5_000;
const { cert } = await createCertificate();

/** An organisation's contact, in the form in which the gateway has it. */
export const contactRequest: ContactCreateRequest = {
  id: "DH0123456789ABCD",
  postalInfo: {
    type: "int",
    name: new Secret("Rita Reseller"),
    org: new Secret("Reseller Ltd"),
    street: [new Secret("Main Street 1")],
    city: new Secret("Brussels"),
    pc: new Secret("1000"),
    cc: "BE",
  },
  voice: new Secret("+32.25550100"),
  email: new Secret("rita@reseller.example"),
  authInfo: new Secret("drawn-by-us"),
};

/** @param own the fields of the profile that the family does not decide */
export function familyOf(flavour: string, own: Partial<RegistryEntry> = {}) {
  const frameOf = (name: string) => readFileSync(join(import.meta.dirname, "frames", flavour, `${name}.xml`), "utf8");
  const entry: RegistryEntry = {
    id: "family",
    host: "127.0.0.1",
    port: 700,
    caFile: "ca.pem",
    registrarId: "t000001",
    password: "foo-BAR2",
    suffixes: ["example"],
    flavour,
    ...own,
  };
  const profileWith = (more: Partial<RegistryEntry> = {}) => completeProfile({ ...entry, ...more }, () => cert);

  /** A registry that greets as in the documentation, and answers every command with this frame. */
  async function start(context: TestContext, answer: string, greeting = frameOf("greeting")) {
    const { services, dialect } = eppOptionsOf(profileWith());
    const fixture = await startFixture(context, { services, dialect });
    fixture.standIn.script = ({ name }) => {
      if (name === "connect" || name === "hello") return { xml: greeting };
      return name === "login" || name === "logout" ? undefined : { xml: frameOf(answer) };
    };
    return fixture;
  }

  async function ask<Data>(context: TestContext, command: EppCommand<Data>, answer: string) {
    const { pool, standIn } = await start(context, answer);
    using lease = await pool.acquire("transform", { waitMs });
    const { data } = await lease.request(command, { clTRID: "test-0001" });
    const login = standIn.requests.find(({ name }) => name === "login")?.xml ?? "";
    return {
      data,
      sent: standIn.requests.at(-1)?.xml ?? "",
      /** The extensions that the login asked for. */
      extensionURIs: [...login.matchAll(/<extURI>([^<]*)</g)].map(([, uri]) => uri),
    };
  }

  const assertSent = (sent: string, expected: string) =>
    assert.deepEqual(plain(parseXml(sent)), plain(parseXml(frameOf(expected))));

  return { profileWith, start, ask, assertSent };
}

/** A document without prefixes and indentation. */
function plain(element: XmlElement): unknown {
  const children = element.children.filter(isElement).map(plain);
  const { namespace, name, attributes } = element;
  return {
    namespace,
    name,
    attributes: Object.fromEntries(attributes),
    content: children.length > 0 ? children : textOf(element),
  };
}
