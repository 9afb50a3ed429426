import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { before, describe, test } from "node:test";
import { createCertificate, type StandInCertificate } from "#registry/epp/test-stand-in-server.ts";
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

/** Loads a file of profiles, with the certificates beside it that they may name. */
async function load(context: TestContext, text: string, pem = authority.cert): Promise<RegistryProfile[]> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-registries-"));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "registries.json");
  await writeFile(file, text);
  for (const name of ["ca.pem", "thin-ca.pem", "thick-ca.pem"]) await writeFile(join(folder, name), pem);
  await writeFile(join(folder, "registrar.pem"), authority.cert);
  await writeFile(join(folder, "registrar.key"), authority.key);
  await writeFile(join(folder, "other.key"), other.key);
  return loadRegistries(file);
}

describe("a file of profiles", () => {
  for (const [what, wrong, sentence] of [
    ["a field that is missing", { host: undefined }, "nic: host is missing"],
    ["a field that nobody knows", { hots: "x" }, "nic: hots is no field of a profile; docs/registries.md lists"],
    [
      "a slip of the pen in an inner field",
      { timeouts: { loginms: 1 } },
      "nic: timeouts.loginms is no field of a profile",
    ],
    ["a number as text", { port: "700" }, "nic: port must be integer"],
    ["a word of none that there are", { dataModel: "fat" }, "nic: dataModel must be thick or thin"],
    [
      "a service left out that cannot be",
      { withoutServices: ["urn:ietf:params:xml:ns:domain-1.0"] },
      "nic: withoutServices.0 must be urn:ietf:params:xml:ns:host-1.0, urn:ietf:params:xml:ns:epp:loginSec-1.0, ",
    ],
    ["a suffix with a dot before it", { suffixes: [".example"] }, "nic: suffixes.0 is not of the form"],
    ["no patience", { timeouts: { loginMs: 0 } }, "nic: timeouts.loginMs must be >= 1"],
    ["more patience than a timer holds", { queryTimeoutMs: 2 ** 31 }, "nic: queryTimeoutMs must be <= 604800000"],
    [
      "a code that means nothing",
      { resultCodes: { 2304: "exist" } },
      "nic: resultCodes.2304 must be created, create-pending, exists,",
    ],
    ["a certificate without its key", { certFile: "registrar.pem" }, "nic: certFile and keyFile belong together"],
    [
      "more sessions kept than allowed",
      { sessionsMax: 2, sessionsMin: 3 },
      "nic: sessionsMin is more than sessionsMax",
    ],
    ["letters for a suffix that is not sold", { idn: { test: ["00DF"] } }, "nic: idn names test, which is none of its"],
    ["letters from last to first", { idn: { example: ["00F6-00E0"] } }, "nic: idn has the range 00F6-00E0, which ends"],
    ["an authority's file that is not there", { caFile: "none.pem" }, "nic: caFile cannot be read: ENOENT"],
    [
      "a key where the certificate should be",
      { certFile: "registrar.key", keyFile: "registrar.key" },
      "nic: certFile holds no certificate in PEM: registrar.key",
    ],
    [
      "a certificate where the key should be",
      { certFile: "registrar.pem", keyFile: "registrar.pem" },
      "nic: keyFile holds no private key in PEM without a passphrase: registrar.pem",
    ],
    [
      "the key of another certificate",
      { certFile: "registrar.pem", keyFile: "other.key" },
      "nic: the key in other.key is not that of the first certificate in registrar.pem",
    ],
  ] as const) {
    test(`with ${what} is refused, in a sentence that names file, profile and field`, async (context) => {
      await assert.rejects(load(context, JSON.stringify([{ ...entry, ...wrong }])), (error: Error) => {
        const told = error.message.replace(/^\S+registries\.json: /, "");
        assert.equal(told.slice(0, sentence.length), sentence);
        return true;
      });
    });
  }

  test("with two registries of one id, or of one suffix, is refused", async (context) => {
    const twice = JSON.stringify([entry, { ...entry, suffixes: ["test"] }]);
    await assert.rejects(load(context, twice), /registries\.json: the id nic is there more than once/);
    const both = JSON.stringify([entry, { ...entry, id: "other" }]);
    await assert.rejects(load(context, both), /the suffix example is sold by more than one registry: nic, other/);
  });

  test("tells several mistakes at once, and no value: it may be the password", async (context) => {
    const wrong = JSON.stringify([{ ...entry, password: "pw-1", port: 0, colour: "red" }]);
    await assert.rejects(load(context, wrong), (error: Error) => {
      for (const field of ["password", "port", "colour"])
        assert.match(error.message, new RegExp(`^  nic: ${field} `, "m"));
      assert.doesNotMatch(error.message, /pw-1/);
      return true;
    });
  });

  test("with nothing but fields that nobody knows is refused by the first of them", async (context) => {
    const unknown = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`field${index}`, 1]));
    await assert.rejects(load(context, JSON.stringify([{ ...entry, ...unknown }])), /nic: field0 is no field/);
  });

  test("that is not there is refused by its name", () => {
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

  test("whose authority is no certificate is refused: without one, everybody's authorities would vouch", async (context) => {
    for (const pem of ["", "no certificate\n"]) {
      await assert.rejects(load(context, JSON.stringify([entry]), pem), /nic.*caFile holds no certificate/);
    }
  });
});

describe("docs/registries.md", () => {
  const page = readFile("docs/registries.md", "utf8");

  test("names every field of a profile, and none that there is not", async () => {
    const rows = [...(await page).matchAll(/^\| `([\w.]+)` \|/gm)].map(([, field]) => field!);
    assert.deepEqual(rows.toSorted(), fieldsOfProfile().toSorted());
  });

  test("tells the defaults as they are", async (context) => {
    const [profile] = await load(context, JSON.stringify([entry]));
    const told = [...(await page).matchAll(/^\| `([\w.]+)` \| `([^`]+)` \|/gm)];
    assert.ok(told.length > 30);
    for (const [, field = "", text] of told) {
      const value = field.split(".").reduce((part: unknown, name) => (part as Record<string, unknown>)[name], profile);
      const expected = field === "servername" ? "host" : JSON.stringify(value);
      assert.equal(text, expected, field);
    }
  });

  test("has examples that load", async (context) => {
    const examples = [...(await page).matchAll(/```json\n(.*?)```/gs)].map(([, json]) => json!);
    assert.equal(examples.length, 2);
    for (const example of examples) assert.equal((await load(context, example)).length, 1);
  });
});
