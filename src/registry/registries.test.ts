import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { before, describe, test } from "node:test";
import { createCertificate, type StandInCertificate } from "#registry/epp/test-stand-in-server.ts";
import { outcomeField } from "#registry/message-rules.ts";
import { fieldsOfProfile, loadRegistries, type RegistryEntry, type RegistryProfile } from "#registry/registries.ts";

let authority: StandInCertificate;
let other: StandInCertificate;

before(async () => {
  [authority, other] = await Promise.all([createCertificate(), createCertificate()]);
});

const entry: RegistryEntry = {
  id: "nic",
  host: "epp.nic.example",
  port: 700,
  caFile: "ca.pem",
  registrarId: "registrar-1",
  password: "secret-PW-1",
  suffixes: ["example"],
};

/** Loads a file of profiles, with certificates beside it that they may name. */
async function load(context: TestContext, text: string, pem = authority.cert): Promise<RegistryProfile[]> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-registries-"));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "registries.json");
  await writeFile(file, text);
  for (const name of ["ca.pem", "be-ca.pem", "thin-ca.pem", "thick-ca.pem"]) await writeFile(join(folder, name), pem);
  await writeFile(join(folder, "registrar.pem"), authority.cert);
  await writeFile(join(folder, "registrar.key"), authority.key);
  await writeFile(join(folder, "other.key"), other.key);
  return loadRegistries(file);
}

/** What is wrong with a profile, the wrong fields, and the beginning of the sentence about them. */
const rule = (condition: object) => ({ ...condition, [outcomeField]: "keep" });

const mistakes = [
  ["a missing field", { host: undefined }, "nic: host is missing"],
  ["an unknown field", { hots: "x" }, "nic: hots is not a field of a profile; docs/registries.md lists"],
  ["a misspelt nested field", { timeouts: { loginms: 1 } }, "nic: timeouts.loginms is not a field of a profile"],
  ["a number as text", { port: "700" }, "nic: port must be a whole number from 1 to 65535"],
  ["an unknown value", { dataModel: "fat" }, "nic: dataModel must be thick or thin"],
  [
    "a required service excluded",
    { withoutServices: ["urn:ietf:params:xml:ns:domain-1.0"] },
    "nic: withoutServices.0 must be urn:ietf:params:xml:ns:host-1.0, urn:ietf:params:xml:ns:epp:loginSec-1.0, ",
  ],
  ["an unknown family", { flavour: "eu" }, "nic: flavour must be none, eurid, dnsbe or sidn"],
  [
    "a contact that the family does not have",
    { flavour: "eurid", contactTypes: ["admin"] },
    "nic: flavour eurid has no admin contacts: ",
  ],
  [
    "letters that the family's module cannot send",
    { flavour: "eurid", idn: { example: ["00E0"] } },
    "nic: flavour eurid has no internationalized names yet: ",
  ],
  [
    "a family without the account's billing contact",
    { flavour: "dnsbe" },
    "nic: flavour dnsbe needs the id of the account's billing contact: ",
  ],
  [
    "a renewal that the family does not have",
    { flavour: "sidn", renew: "command" },
    "nic: flavour sidn has no renew command: ",
  ],
  [
    "a contact of ours that each name has of its own",
    { registrarContacts: { tech: "c100" } },
    "nic: registrarContacts has tech, which contactTypes has too",
  ],
  ["a code that nothing asks for", { authInfo: "holder" }, "nic: authInfo holder needs extensions.auth-code"],
  ["a fixed text of no command", { extensions: { poll: "<x/>" } }, "nic: extensions.poll is not a field of a profile"],
  [
    "a fixed text that is not XML",
    { extensions: { create: '<x xmlns="urn:x">' } },
    "nic: extensions.create must be XML elements that declare their namespaces: ",
  ],
  [
    "a fixed text with a prefix that it does not declare",
    { extensions: { create: '<x:a xmlns="urn:x"/>' } },
    "nic: extensions.create must be XML elements that declare their namespaces: unbound namespace prefix",
  ],
  [
    "a fixed text with an element in no namespace",
    { extensions: { "host:create": '<x:a xmlns:x="urn:x"><b/></x:a>' } },
    "nic: extensions.host:create must be XML elements that declare their namespaces: <b> is in no namespace",
  ],
  [
    "a fixed text without an element",
    { extensions: { restore: "NAME" } },
    "nic: extensions.restore must be XML elements that declare their namespaces: there is no element",
  ],
  [
    "a fixed text that is not an extension",
    { extensions: { info: '<extension xmlns="urn:ietf:params:xml:ns:epp-1.0"/>' } },
    "nic: extensions.info must be XML elements that declare their namespaces: <extension> is an element of EPP itself",
  ],
  [
    "a contact field without a place for its value",
    { contactFields: [{ name: "vat", element: '<x:a xmlns:x="urn:x">vat</x:a>' }] },
    "nic: contactFields.0.element must be an element of an extension that declares its namespaces, with {value}",
  ],
  [
    "a contact field in no namespace",
    { contactFields: [{ name: "vat", element: '<x:a xmlns:x="urn:x"><b>{value}</b></x:a>' }] },
    "nic: contactFields.0.element must be an element of an extension that declares its namespaces, with {value} as the text of one element: <b> is in no namespace",
  ],
  [
    "a contact field that is not an extension",
    { contactFields: [{ name: "vat", element: '<id xmlns="urn:ietf:params:xml:ns:contact-1.0">{value}</id>' }] },
    "nic: contactFields.0.element must be an element of an extension",
  ],
  [
    "a contact field that is not XML",
    { contactFields: [{ name: "vat", element: "<x:a>{value}</x:a>" }] },
    "nic: contactFields.0.element must be an element of an extension",
  ],
  [
    "a contact field with a pattern that cannot be read",
    { contactFields: [{ name: "vat", pattern: "[", element: '<a xmlns="urn:x">{value}</a>' }] },
    "nic: contactFields.0.pattern is not a regular expression",
  ],
  [
    "two contact fields of one name",
    {
      contactFields: [
        { name: "vat", element: '<a xmlns="urn:x">{value}</a>' },
        { name: "vat", element: '<b xmlns="urn:x">{value}</b>' },
      ],
    },
    "nic: contactFields.1.name occurs twice",
  ],
  ["a suffix with a dot before it", { suffixes: [".example"] }, "nic: suffixes.0 does not have the form"],
  [
    "a timeout of zero",
    { timeouts: { loginMs: 0 } },
    "nic: timeouts.loginMs must be a whole number from 1 to 604800000",
  ],
  [
    "a timeout that is too long for a timer",
    { queryTimeoutMs: 2 ** 31 },
    "nic: queryTimeoutMs must be a whole number from 1 to 604800000",
  ],
  [
    "a result code with an unknown meaning",
    { resultCodes: { 2304: "exist" } },
    "nic: resultCodes.2304 must be created, create-pending, exists,",
  ],
  ["a certificate without its key", { certFile: "registrar.pem" }, "nic: certFile and keyFile need each other"],
  ["more sessions kept than allowed", { sessionsMax: 2, sessionsMin: 3 }, "nic: sessionsMin is more than sessionsMax"],
  [
    "letters for an unknown suffix",
    { idn: { test: ["00DF"] } },
    "nic: idn names test, which is not one of its suffixes",
  ],
  [
    "a range of letters that ends before it begins",
    { idn: { example: ["00F6-00E0"] } },
    "nic: idn has the range 00F6-00E0, which ends",
  ],
  [
    "prices in two currencies",
    { premium: { amountMax: 9, currency: "EUR" }, prices: { create: 9, currency: "USD" } },
    "nic: premium and prices need the same currency",
  ],
  [
    "no way to keep a name",
    { renew: "none", atExpiry: "expire" },
    "nic: with renew none, atExpiry must be auto-renew, or no name could be kept",
  ],
  [
    "a period of more months than a command may have",
    { period: "months", renewalYears: 9 },
    "nic: a period in months is at most 8 years",
  ],
  ["a missing file of the authority", { caFile: "none.pem" }, "nic: caFile cannot be read: ENOENT"],
  [
    "a key where the certificate should be",
    { certFile: "registrar.key", keyFile: "registrar.key" },
    "nic: certFile contains no certificate in PEM: registrar.key",
  ],
  [
    "a certificate where the key should be",
    { certFile: "registrar.pem", keyFile: "registrar.pem" },
    "nic: keyFile contains no private key in PEM without a passphrase: registrar.pem",
  ],
  [
    "the key of another certificate",
    { certFile: "registrar.pem", keyFile: "other.key" },
    "nic: the key in other.key does not belong to the first certificate in registrar.pem",
  ],
  ["a rule for messages without a condition", { messages: [rule({})] }, "nic: messages.0 needs either match or data"],
  [
    "a pattern for messages that could take long",
    { messages: [rule({ match: "invoice" }), rule({ match: "^(a+)+$" })] },
    "nic: messages.1 cannot be read from its character 2 on",
  ],
  [
    "another outcome of a message",
    { messages: [{ match: "a", [outcomeField]: "drop" }] },
    "nic: messages.0.then must be",
  ],
] as const;

describe("a file of profiles", () => {
  for (const [what, wrong, sentence] of mistakes) {
    test(`with ${what} is refused, in a sentence that names file, profile and field`, async (context) => {
      await assert.rejects(load(context, JSON.stringify([{ ...entry, ...wrong }])), (error: Error) => {
        const message = error.message.replace(/^\S+registries\.json: /, "");
        assert.equal(message.slice(0, sentence.length), sentence);
        return true;
      });
    });
  }

  test("with one id or suffix in two profiles is refused", async (context) => {
    const twice = JSON.stringify([entry, { ...entry, suffixes: ["test"] }]);
    await assert.rejects(load(context, twice), /registries\.json: more than one profile has the id nic/);
    const both = JSON.stringify([entry, { ...entry, id: "other" }]);
    await assert.rejects(load(context, both), /more than one profile has the suffix example: nic, other/);
  });

  test("is refused with all of its mistakes, and without a value, which may be the password", async (context) => {
    const wrong = JSON.stringify([{ ...entry, password: "pw-1", port: 0, colour: "red" }]);
    await assert.rejects(load(context, wrong), (error: Error) => {
      for (const field of ["password", "port", "colour"])
        assert.match(error.message, new RegExp(`^  nic: ${field} `, "m"));
      assert.doesNotMatch(error.message, /pw-1/);
      return true;
    });
  });

  test("with only unknown fields is refused with the first of them", async (context) => {
    const unknown = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`field${index}`, 1]));
    await assert.rejects(load(context, JSON.stringify([{ ...entry, ...unknown }])), /nic: field0 is not a field/);
  });

  test("that is missing is refused with its name", () => {
    assert.throws(() => loadRegistries("/nowhere/registries.json"), /^Error: \/nowhere\/registries\.json, the file of/);
  });

  test("that is not JSON is refused without being quoted", async (context) => {
    const broken = JSON.stringify([entry]).replace('"secret-PW-1"', "secret-PW-1");
    await assert.rejects(load(context, broken), (error: Error) => {
      assert.match(error.message, /registries\.json is not JSON/);
      assert.doesNotMatch(error.message, /PW-1/);
      return true;
    });
  });

  test("whose authority is not a certificate is refused, because TLS would trust all public authorities", async (context) => {
    for (const pem of ["", "no certificate\n"]) {
      await assert.rejects(load(context, JSON.stringify([entry]), pem), /nic.*caFile contains no certificate/);
    }
  });
});

test("a registration's bounds that contradict each other are refused", async (context) => {
  const refused = (wrong: object, sentence: RegExp) =>
    assert.rejects(load(context, JSON.stringify([{ ...entry, ...wrong }])), sentence);
  await refused({ nameserversAtCreate: { min: 3, max: 2 } }, /nic: nameserversAtCreate\.min is more than nameservers/);
  const demanding = { nameserversAtCreate: { min: 2, max: 13 } };
  await refused({ ...demanding, defaultNameServers: ["ns1.dns.net"] }, /nic: defaultNameServers has fewer or more/);
  await refused({ defaultNameServers: ["ns1.dns.net", "ns1.dns.net"] }, /nic: defaultNameServers names a host twice/);
  const sacrificialSuffix = "sacrificial.invalid";
  await refused({ sacrificialSuffix, hostModel: "attributes" }, /nic: sacrificialSuffix needs host objects/);
  await refused({ sacrificialSuffix: "invalid" }, /nic: sacrificialSuffix /);
  const own = `sacrificial.${entry.suffixes[0]}`;
  await refused({ sacrificialSuffix: own }, /nic: sacrificialSuffix is below \w+, which is a suffix of the registry/);
  const withoutServices = ["urn:ietf:params:xml:ns:secDNS-1.1"];
  await refused({ secDns: "keys", withoutServices }, /nic: secDns needs the extension that withoutServices excludes/);
  await refused({ periodYears: 6, yearsMax: 5 }, /nic: periodYears is more than yearsMax/);
});

describe("docs/registries.md", () => {
  const page = readFile("docs/registries.md", "utf8");

  test("names all fields of a profile and no others", async () => {
    const rows = [...(await page).matchAll(/^\| `([\w.]+)` \|/gm)].map(([, field]) => field!);
    assert.deepEqual(rows.toSorted(), fieldsOfProfile().toSorted());
  });

  test("gives the actual defaults", async (context) => {
    const [profile] = await load(context, JSON.stringify([entry]));
    const documented = [...(await page).matchAll(/^\| `([\w.]+)` \| `([^`]+)` \|/gm)];
    assert.ok(documented.length > 30);
    for (const [, field = "", text] of documented) {
      const value = field.split(".").reduce((part: unknown, name) => (part as Record<string, unknown>)[name], profile);
      const expected = field === "servername" ? "host" : JSON.stringify(value);
      assert.equal(text, expected, field);
    }
  });

  test("has examples that load", async (context) => {
    const examples = [...(await page).matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json!);
    assert.equal(examples.length, 3);
    for (const example of examples) assert.equal((await load(context, example)).length, 1);
  });
});
