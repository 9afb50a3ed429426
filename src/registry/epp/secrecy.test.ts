import assert from "node:assert/strict";
import { Writable } from "node:stream";
import type { TestContext } from "node:test";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { pino } from "pino";
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { loginSecNamespace } from "#registry/epp/namespaces.ts";
import { startFixture } from "#registry/epp/pool/test-pool.ts";
import type { StandIn, StandInAnswer, StandInRequest } from "#registry/epp/test-stand-in-server.ts";
import { offerXml } from "#registry/epp/test-stand-in-server.ts";

const waitMs = 5_000;
const password = "a long password: login & security";
const authInfo = "auth-<&>-INFO-1";
const pubKey = "AwEAAaNotSecret0";
const secret = new Secret(authInfo);
const name = "example.com";
const commands: EppCommand<unknown>[] = [
  domainCreate({
    name,
    periodYears: 1,
    authInfo: secret,
    secDns: { keyData: [{ flags: 257, protocol: 3, alg: 8, pubKey }] },
  }),
  domainInfo(name, { authInfo: secret }),
  domainTransfer("request", { name, authInfo: secret }),
  domainUpdate({ name, authInfo: secret }),
  contactCreate({
    id: "sh8013",
    postalInfo: { type: "int", name: "J", street: [], city: "C", cc: "US" },
    email: "j@example.com",
    authInfo: secret,
  }),
];

/** The request's text, escaped for XML. */
const echoOf = ({ xml }: StandInRequest) =>
  [...xml.matchAll(/<(?:\w+:)?(?:pw|newPW)>([^<]*)</g)].map(([, text]) => text).join(" ");

/** An answer that echoes the request in every place that it has. */
function tellTale(request: StandInRequest, code: number): string {
  const echo = echoOf(request);
  const events = `<l:loginSecData xmlns:l="${loginSecNamespace}"><l:event type="custom" name="${echo}" value="${echo}" level="warning">${echo}</l:event><l:event type="password" level="warning" value="${echo}" exDate="2027-01-01T00:00:00Z">${echo}</l:event></l:loginSecData>`;
  return `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="${code}"><msg>no: ${echo}</msg><value>${echo}</value><extValue><value><x:any xmlns:x="urn:x-1.0" was="${echo}">${echo}</x:any></value><reason>it was <![CDATA[]]>${echo}</reason></extValue></result><extension>${events}</extension><trID><clTRID>${request.clTRID}</clTRID><svTRID>sv-1</svTRID></trID></response></epp>`;
}

/** A pool whose log, with frames, is kept as text. */
async function startTalkative(context: TestContext, script: (request: StandInRequest) => StandInAnswer | undefined) {
  let written = "";
  const lines = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const log = pino({ level: "trace" }, lines);
  const fixture = await startFixture(context, {
    password: new Secret(password),
    services: {
      requiredObjectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
      optionalObjectURIs: [],
      extensionURIs: [loginSecNamespace],
    },
    log,
    onLogin: (news) => log.info({ news }),
    onFrame: (direction, xml) => log.trace({ direction, xml }, "EPP frame"),
    circuit: { faultsMax: 1_000 },
    timeouts: { loginPauseFirstMs: 1, loginPauseMsMax: 1 },
  });
  const greeting = offerXml(["urn:ietf:params:xml:ns:domain-1.0"], [loginSecNamespace]);
  fixture.standIn.script = (request) => {
    if (request.name === "connect" || request.name === "hello") return { xml: greeting };
    return script(request);
  };
  return { ...fixture, written: () => written };
}

/** Asserts that no recognizable piece of a secret is there, plain or escaped for XML or JSON. */
function assertNoSecret(...texts: string[]): void {
  for (const text of texts) assert.doesNotMatch(text, /long password|login &|INFO-1|auth-/);
}

function wasSent(standIn: StandIn): void {
  const sent = standIn.requests.map(({ xml }) => xml).join("\n");
  assert.match(sent, /long password: login &amp; security/);
}

describe("no secret is in any log line, error or answer", () => {
  test("when a registry echoes the request wherever it can", async (context) => {
    const { standIn, pool, written } = await startTalkative(context, (request) =>
      request.name === "login" ? { xml: tellTale(request, 1000) } : { xml: tellTale(request, 2005) },
    );
    for (const [index, command] of commands.entries()) {
      using lease = await pool.acquire("transform", { waitMs });
      const answer = await lease.request(command, { clTRID: `echo-${index}` });
      assert.equal(answer.message, "no: [secret]");
      assert.deepEqual(answer.reasons, ["it was [secret]"]);
      assertNoSecret(inspect(answer, { depth: 9 }));
    }
    wasSent(standIn);
    assertNoSecret(written());
    assert.match(written(), /"exDate":"2027-01-01T00:00:00.000Z"/);
    assert.ok(written().includes(pubKey), "DNSSEC keys are public and stay readable");
    assert.ok(written().includes("<domain:name>example.com</domain:name>"));
  });

  test("when the login is refused", async (context) => {
    for (const code of [2200, 2306, 2501]) {
      const { standIn, pool, written } = await startTalkative(context, (request) => ({ xml: tellTale(request, code) }));
      const error = await pool.acquire("check", { waitMs }).catch((failure: unknown) => failure);
      wasSent(standIn);
      assertNoSecret(inspect(error, { depth: 9 }), (error as Error).message, written());
      assert.match(written(), new RegExp(`login \\(result code ${code}\\): no: .*\\[secret\\]`));
    }
  });

  for (const [what, spoil] of [
    ["no answer", (): StandInAnswer => "close"],
    ["the request itself", ({ xml }: StandInRequest): StandInAnswer => ({ xml })],
    ["half a frame", ({ xml }: StandInRequest): StandInAnswer => ({ half: xml })],
    ["garbage around it", (request: StandInRequest): StandInAnswer => ({ xml: `<${echoOf(request)}>` })],
    ["an invalid date", (request: StandInRequest): StandInAnswer => ({ xml: badDate(request) })],
  ] as const) {
    test(`when a command is answered with ${what}`, async (context) => {
      const { standIn, pool, written } = await startTalkative(context, (request) =>
        request.name.includes(":") ? spoil(request) : undefined,
      );
      for (const [index, command] of commands.entries()) {
        using lease = await pool.acquire("transform", { waitMs });
        const outcome = await lease.request(command, { clTRID: `bad-${index}` }).catch((failure: unknown) => failure);
        assertNoSecret(inspect(outcome, { depth: 9 }));
      }
      wasSent(standIn);
      assertNoSecret(written());
    });
  }
});

function badDate(request: StandInRequest): string {
  const data = `<resData><d:creData xmlns:d="urn:ietf:params:xml:ns:domain-1.0"><d:name>x</d:name><d:crDate>${echoOf(request)}</d:crDate></d:creData></resData>`;
  return tellTale(request, 1000).replace("<extension>", `${data}<extension>`);
}
