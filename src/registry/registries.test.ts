import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { before, describe, test } from "node:test";
import { createCertificate, type StandInCertificate } from "./epp/stand-in-server.ts";
import { fieldsOfProfile, loadRegistries, type RegistryEntry, type RegistryProfile } from "./registries.ts";

let authority: StandInCertificate;

before(async () => {
  authority = await createCertificate();
});

const entry: RegistryEntry = {
  ...{ id: "nic", host: "epp.nic.example", port: 700, caFile: "ca.pem" },
  ...{ registrarId: "registrar-1", password: "secret-PW-1", suffixes: ["example"] },
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
  return loadRegistries(file);
}

describe("a file of profiles", () => {
  for (const [what, entries, sentence] of [
    ["a field that is missing", [{ ...entry, host: undefined }], /host/],
    ["a field that nobody knows", [{ ...entry, hots: "x" }], /additional|hots/i],
    ["two registries of one id", [entry, { ...entry, suffixes: ["test"] }], /nic.*more than once/],
    ["a suffix at two registries", [entry, { ...entry, id: "other" }], /example.*more than one registry/],
    ["a certificate without its key", [{ ...entry, certFile: "registrar.pem" }], /nic.*certFile.*keyFile/],
    ["more sessions kept than allowed", [{ ...entry, sessionsMax: 2, sessionsMin: 3 }], /nic.*sessionsMin/],
    ["letters for a suffix that is not sold", [{ ...entry, idn: { test: ["00DF"] } }], /nic.*idn.*test/],
    ["an authority's file that is not there", [{ ...entry, caFile: "none.pem" }], /none\.pem/],
  ] as const) {
    test(`with ${what} is refused, in a sentence that says so`, async (context) => {
      await assert.rejects(load(context, JSON.stringify(entries)), sentence);
    });
  }

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
