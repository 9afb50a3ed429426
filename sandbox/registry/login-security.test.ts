import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistry } from "./server.ts";
import { loginFrame, secureLoginFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startFor } from "./test/setup.ts";

const longPassword = "a password of more than sixteen characters";
const loginSec = "urn:ietf:params:xml:ns:epp:loginSec-1.0";

async function connectTo(context: TestContext, registry: SandboxRegistry): Promise<RawClient> {
  const client = await RawClient.connect(registry.port, registry.caFile);
  context.after(() => client.close());
  assert.match((await client.receive()) ?? "", new RegExp(`<extURI>${loginSec}</extURI>`));
  return client;
}

test("accepts a long password, and a new one, in the loginSec extension", async (context) => {
  const registry = await startFor(context, { registrars: [{ id: "gate-one", password: longPassword }] });
  const first = await connectTo(context, registry);
  assert.equal((await first.ask(loginFrame("gate-one", "a password of mo"))).code, 2200);
  assert.equal((await first.ask(secureLoginFrame("gate-one", longPassword, `${longPassword} 2`))).code, 1000);
  const second = await connectTo(context, registry);
  assert.equal((await second.ask(secureLoginFrame("gate-one", longPassword))).code, 2200);
  assert.equal((await second.ask(secureLoginFrame("gate-one", `${longPassword} 2`))).code, 1000);
  const journal = JSON.stringify(registry.store.journal.entries());
  assert.ok(!journal.includes(longPassword), "the journal has no password");
});

test("refuses a login that refers to an empty extension, fills it needlessly, or did not request it", async (context) => {
  const registry = await startFor(context);
  const client = await connectTo(context, registry);
  const empty = secureLoginFrame("gate-one", "secret-1").replace(/<loginSec:pw>.*<\/loginSec:pw>/, "");
  assert.equal((await client.ask(empty)).code, 2003);
  const vain = secureLoginFrame("gate-one", "secret-1").replace("[LOGIN-SECURITY]", "secret-1");
  assert.equal((await client.ask(vain)).code, 2306);
  const unasked = secureLoginFrame("gate-one", "secret-1").replace(/<svcExtension>.*<\/svcExtension>/, "");
  assert.equal((await client.ask(unasked)).code, 2002);
  assert.equal((await client.ask(secureLoginFrame("gate-one", "secret-1"))).code, 1000);
});

test("warns only a client that requested loginSec of the end of its password", async (context) => {
  const registry = await startFor(context, { passwordExpiresDays: 14, now: () => new Date("2026-03-01T12:00:00Z") });
  const client = await connectTo(context, registry);
  const { xml } = await client.ask(secureLoginFrame("gate-one", "secret-1"));
  assert.match(xml, /<loginSec:event type="password" level="warning" exDate="2026-03-15T12:00:00.000Z">/);
  const other = await connectTo(context, registry);
  assert.ok(!(await other.ask(loginFrame("gate-one", "secret-1"))).xml.includes("loginSec"));
});
