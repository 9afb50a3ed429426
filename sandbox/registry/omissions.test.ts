import assert from "node:assert/strict";
import { test } from "node:test";
import { createFrame, domainUri, extended, infoFrame, transferFrame, updateFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

test("infoShowsRegistrar: a name's registrar is shown to everybody, to itself, or to nobody", async (context) => {
  for (const [infoShowsRegistrar, expected] of [
    ["all", [true, true]],
    ["sponsor", [true, false]],
    ["none", [false, false]],
  ] as const) {
    const { registry, client } = await startWithClient(context, { infoShowsRegistrar });
    const other = await RawClient.login(registry, "gate-two", "secret-2");
    context.after(() => other.close());
    assert.equal((await client.ask(createFrame("held.test"))).code, 1000);
    const shown = await Promise.all([client, other].map((one) => one.ask(infoFrame("held.test"))));
    assert.deepEqual(
      shown.map(({ xml }) => xml.includes("<domain:clID>gate-one<")),
      expected,
    );
  }
});

test("transferShows: the data of a transfer have all that the schema requires, or only its status", async (context) => {
  const { registry, client } = await startWithClient(context, { transferShows: "status" });
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  context.after(() => other.close());
  await client.ask(createFrame("held.test"));
  const { authInfo } = registry.store.domains.find("held.test")!;
  const { xml, code } = await other.ask(transferFrame("request", "held.test", authInfo));
  assert.equal(code, 1001);
  assert.match(xml, /<domain:trStatus>pending<.*<domain:reID>gate-two</s);
  assert.doesNotMatch(xml, /reDate|acID|acDate/);
});

test("authInfo registry-shown: the registry's own authInfo is shown to the name's registrar", async (context) => {
  const { registry, client } = await startWithClient(context, { authInfo: "registry-shown" });
  await client.ask(createFrame("held.test"));
  const { authInfo } = registry.store.domains.find("held.test")!;
  assert.equal(textOf(await client.ask(infoFrame("held.test")), "pw"), authInfo);
  assert.match(authInfo, /^registry-/);
});

test("authCode: an update that requests it makes the registry draw another authInfo", async (context) => {
  const uri = "urn:example:authCode-1.0";
  const objects = [domainUri, "urn:ietf:params:xml:ns:contact-1.0"];
  const extensions = ["authCode"] as const;
  const options = { extensions, authInfo: "registry" } as const;
  const { registry, client } = await startWithClient(context, options, { objects, extension: uri });
  await client.ask(createFrame("held.test"));
  const before = registry.store.domains.find("held.test")?.authInfo;
  const frame = extended(updateFrame("held.test", ""), `<c:request xmlns:c="${uri}"/>`);
  assert.equal((await client.ask(frame)).code, 1000);
  assert.notEqual(registry.store.domains.find("held.test")?.authInfo, before);
  assert.equal((await client.ask(updateFrame("held.test", ""))).code, 2003);
});
