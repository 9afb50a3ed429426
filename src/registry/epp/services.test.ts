import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import {
  contactNamespace,
  domainNamespace,
  eppNamespace,
  feeNamespace,
  hostNamespace,
  loginSecNamespace,
  rgpNamespace,
  secDnsNamespace,
} from "#registry/epp/namespaces.ts";
import type { EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { count, startFixture } from "#registry/epp/pool/test-pool.ts";
import { createCertificate, offerXml, responseXml } from "#registry/epp/test-stand-in-server.ts";
import { findChild, findChildren, getChild, parseXml, textOf } from "#registry/epp/xml/xml.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import { completeProfile, type RegistryEntry } from "#registry/registries.ts";

const waitMs = 5_000;
const { cert } = await createCertificate();
const services = {
  requiredObjectURIs: [domainNamespace, contactNamespace],
  optionalObjectURIs: [hostNamespace],
  extensionURIs: [loginSecNamespace, secDnsNamespace, rgpNamespace, feeNamespace],
};

/** A profile with these fields changed. */
const profileWith = (own: Partial<RegistryEntry>) =>
  completeProfile(
    {
      id: "nic",
      host: "127.0.0.1",
      port: 700,
      caFile: "ca.pem",
      registrarId: "ClientX",
      password: "foo-BAR2",
      suffixes: ["example"],
      ...own,
    },
    () => cert,
  );

async function startWith(context: TestContext, greeting: string, options: Partial<EppPoolOptions> = {}) {
  const fixture = await startFixture(context, { services, ...options });
  fixture.standIn.script = ({ name }) => (name === "connect" || name === "hello" ? { xml: greeting } : undefined);
  return fixture;
}

/** The services that a login asked for. */
function askedFor(xml: string) {
  const command = getChild(parseXml(xml), eppNamespace, "command");
  const login = getChild(command, eppNamespace, "login");
  const svcs = getChild(login, eppNamespace, "svcs");
  const extension = findChild(svcs, eppNamespace, "svcExtension");
  return {
    objects: findChildren(svcs, eppNamespace, "objURI").map(textOf),
    extensions: extension ? findChildren(extension, eppNamespace, "extURI").map(textOf) : [],
    language: textOf(getChild(getChild(login, eppNamespace, "options"), eppNamespace, "lang")),
  };
}

describe("a login asks for exactly what we require and the registry offers", () => {
  const [launch, hosts] = ["urn:ietf:params:xml:ns:launch-1.0", hostNamespace];
  for (const [what, offered, objects, extensions, language] of [
    [
      "everything and more",
      offerXml([domainNamespace, hosts, contactNamespace, "urn:x:other-1.0"], [feeNamespace, launch, rgpNamespace]),
      [domainNamespace, contactNamespace, hostNamespace],
      [rgpNamespace, feeNamespace],
      "en",
    ],
    [
      "neither hosts nor extensions",
      offerXml([domainNamespace, contactNamespace]),
      [domainNamespace, contactNamespace],
      [],
      "en",
    ],
    [
      "another language only",
      offerXml([domainNamespace, contactNamespace], [], "fr"),
      services.requiredObjectURIs,
      [],
      "fr",
    ],
  ] as const) {
    test(`where ${what} is offered`, async (context) => {
      const { standIn, pool } = await startWith(context, offered);
      using lease = await pool.acquire("check", { waitMs });
      const login = standIn.requests.find(({ name }) => name === "login");
      assert.deepEqual(askedFor(login?.xml ?? ""), { objects: [...objects], extensions: [...extensions], language });
      assert.deepEqual(lease.extensionURIs, extensions);
    });
  }

  test("and fails without a login where a required object is not offered, with an error that names it", async (context) => {
    const { standIn, pool } = await startWith(context, offerXml([domainNamespace, hostNamespace]));
    await assert.rejects(pool.acquire("check", { waitMs }), {
      name: "EppUnavailable",
      reason: "not-offered",
      message: `no session with the registry: not-offered: the registry does not offer ${contactNamespace}`,
    });
    assert.equal(count(standIn, "login"), 0);
  });
});

describe("a service that the greeting offers and the login refuses", () => {
  const offered = offerXml([domainNamespace, contactNamespace, hostNamespace], [feeNamespace, rgpNamespace]);

  for (const code of [2103, 2307]) {
    test(`is named by the error, with the profile's field that omits it (${code})`, async (context) => {
      const fixture = await startWith(context, offered, { services: eppOptionsOf(profileWith({})).services });
      const { script } = fixture.standIn;
      fixture.standIn.script = (request) =>
        request.name === "login" ? { xml: responseXml(code, request.clTRID) } : script(request);
      await assert.rejects(fixture.pool.acquire("check", { waitMs }), {
        reason: "login",
        message: new RegExp(
          `the login asked for ${[domainNamespace, contactNamespace, hostNamespace, rgpNamespace, feeNamespace].join(", ")}; withoutServices`,
        ),
      });
    });
  }

  test("is not asked for when the profile omits it", async (context) => {
    const { services: wanted } = eppOptionsOf(profileWith({ withoutServices: [feeNamespace, hostNamespace] }));
    const { standIn, pool } = await startWith(context, offered, { services: wanted });
    using lease = await pool.acquire("check", { waitMs });
    const asked = askedFor(standIn.requests.find(({ name }) => name === "login")?.xml ?? "");
    assert.deepEqual(asked.objects, [domainNamespace, contactNamespace]);
    assert.deepEqual(asked.extensions, [rgpNamespace]);
    assert.deepEqual(lease.extensionURIs, [rgpNamespace]);
  });
});

describe("a password of more than 16 characters", () => {
  const password = new Secret("a password of more than 16 characters");

  test("is sent in loginSec where that is offered", async (context) => {
    const greeting = offerXml(services.requiredObjectURIs, [loginSecNamespace]);
    const { standIn, pool } = await startWith(context, greeting, { password });
    (await pool.acquire("check", { waitMs })).release();
    const { xml = "" } = standIn.requests.find(({ name }) => name === "login") ?? {};
    assert.match(xml, /<pw>\[LOGIN-SECURITY\]<\/pw>.*<loginSec:pw>a password of more than 16 characters</);
  });

  test("is not sent at all where it is not", async (context) => {
    const { standIn, pool } = await startWith(context, offerXml(services.requiredObjectURIs), { password });
    await assert.rejects(pool.acquire("check", { waitMs }), { reason: "not-offered", message: /needs loginSec/ });
    assert.equal(count(standIn, "login"), 0);
  });
});

describe("prices", () => {
  const priced = (name: string, category: string) =>
    `<fee:chkData xmlns:fee="${feeNamespace}"><fee:currency>EUR</fee:currency><fee:cd><fee:objID>${name}</fee:objID><fee:class>${category}</fee:class><fee:command name="create"><fee:period unit="y">2</fee:period><fee:fee>100.00</fee:fee></fee:command></fee:cd></fee:chkData>`;

  /** A check of a name of this class, at a registry that has the fee extension. */
  async function check(context: TestContext, category: string, options: Partial<EppPoolOptions> = {}) {
    const { standIn, pool } = await startWith(context, offerXml(services.requiredObjectURIs, [feeNamespace]), options);
    const { script } = standIn;
    standIn.script = (request) => {
      if (request.name !== "domain:check") return script(request);
      const name = /<domain:name>([^<]*)</.exec(request.xml)?.[1] ?? "";
      const data = `<d:chkData xmlns:d="${domainNamespace}"><d:cd><d:name avail="1">${name}</d:name></d:cd></d:chkData>`;
      const xml = responseXml(1000, request.clTRID, data);
      return { xml: xml.replace("<trID>", `<extension>${priced(name, category)}</extension><trID>`) };
    };
    return { standIn, answer: await pool.checkDomain("a.example", { budgetMs: waitMs }) };
  }

  test("are asked for where the registry offers them, for the period of a registration", async (context) => {
    const { standIn, answer } = await check(context, "standard", { periodYears: 2 });
    assert.match(standIn.requests.at(-1)?.xml ?? "", /<fee:command name="create"><fee:period unit="y">2</);
    assert.deepEqual([answer.available, answer.fees?.prices[0]?.amount], [true, "100.00"]);
  });

  test("above the standard make a name unavailable, unless the operator accepts them", async (context) => {
    const refused = await check(context, "premium");
    assert.deepEqual([refused.answer.available, refused.answer.reason], [false, "Premium"]);
    const accepted = await check(context, "premium", { premium: { amountMax: 100, currency: "EUR" } });
    assert.equal(accepted.answer.available, true);
    assert.match(accepted.standIn.requests.at(-1)?.xml ?? "", /<fee:currency>EUR</);
  });

  test("are not asked for where the registry does not offer them", async (context) => {
    const { standIn, pool } = await startWith(context, offerXml(services.requiredObjectURIs));
    await pool.checkDomain("a.example", { budgetMs: waitMs });
    assert.doesNotMatch(standIn.requests.at(-1)?.xml ?? "", /fee/);
  });
});
