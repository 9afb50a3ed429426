import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistryOptions } from "./server.ts";
import { checkFrame, createFrame, extended, infoFrame } from "./test/frames.ts";
import type { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const tokenUri = "urn:ietf:params:xml:ns:allocationToken-1.0";
const launchUri = "urn:ietf:params:xml:ns:launch-1.0";
const token = (text: string) =>
  `<allocationToken:allocationToken xmlns:allocationToken="${tokenUri}">${text}</allocationToken:allocationToken>`;
const launchCheck = (type: string, phase: string) =>
  `<launch:check xmlns:launch="${launchUri}" type="${type}"><launch:phase>${phase}</launch:phase></launch:check>`;

async function start(context: TestContext, options: Partial<SandboxRegistryOptions> = {}) {
  const extensions = ["allocationToken", "launch"] as const;
  return startWithClient(context, { extensions, ...options }, { extension: [tokenUri, launchUri] });
}

async function assertCodes(client: RawClient, cases: [number, string][]): Promise<void> {
  for (const [code, frame] of cases) assert.equal((await client.ask(frame)).code, code, frame);
}

test("a token- name is free for the client that presents its token, and the journal does not show the token", async (context) => {
  const { registry, client } = await start(context);
  const avail = async (frame: string) => /avail="(\d)"/.exec((await client.ask(frame)).xml)?.[1];
  assert.equal(await avail(checkFrame("token-1.test")), "0");
  assert.equal(await avail(extended(checkFrame("token-1.test"), token("wrong-token"))), "0");
  assert.equal(await avail(extended(checkFrame("token-1.test"), token("sandbox-token"))), "1");
  await assertCodes(client, [
    [2201, createFrame("token-1.test")],
    [2201, extended(createFrame("token-1.test"), token("wrong-token"))],
    [2201, extended(createFrame("any.test"), token("wrong-token"))],
    [2002, extended(infoFrame("any.test"), token("sandbox-token"))],
    [1000, extended(createFrame("token-1.test"), token("sandbox-token"))],
  ]);
  assert.doesNotMatch(JSON.stringify(registry.store.journal.entries({})), /(sandbox|wrong)-token/);
});

test("the claims phase demands a notice for claims- names, and a check of the type claims says for which", async (context) => {
  const { client } = await start(context, { launchPhase: "claims" });
  const claims = extended(checkFrame("claims-1.test"), launchCheck("claims", "claims"));
  assert.match((await client.ask(claims)).xml, /<launch:name exists="1">claims-1\.test<.*<launch:claimKey/);
  const unclaimed = extended(checkFrame("any.test"), launchCheck("claims", "claims"));
  assert.match((await client.ask(unclaimed)).xml, /<launch:name exists="0">any\.test</);
  assert.doesNotMatch((await client.ask(checkFrame("claims-1.test"))).xml, /launch/);
  await assertCodes(client, [
    [2003, createFrame("claims-1.test")],
    [1000, createFrame("any.test")],
  ]);
  const shown = await start(context, { launchPhase: "claims", checkShowsClaims: true });
  assert.match((await shown.client.ask(checkFrame("claims-1.test"))).xml, /exists="1"/);
});

test("in sunrise no name is created, and a check of another phase is refused", async (context) => {
  const { client } = await start(context, { launchPhase: "sunrise" });
  await assertCodes(client, [
    [2306, createFrame("any.test")],
    [2306, extended(checkFrame("any.test"), launchCheck("avail", "open"))],
    [2306, extended(checkFrame("any.test"), launchCheck("claims", "claims"))],
    [1000, extended(checkFrame("any.test"), launchCheck("avail", "sunrise"))],
  ]);
});
