import assert from "node:assert/strict";
import { test } from "node:test";
import { contactCreateFrame, contactFrame, contactUri, domainUri, extended } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const uri = "urn:example:taxNumber-1.0";
const objects = [domainUri, contactUri];
const numbered = (id: string, number: string) =>
  extended(contactCreateFrame(id), `<t:create xmlns:t="${uri}"><t:taxNumber>${number}</t:taxNumber></t:create>`);

test("taxNumber: a contact needs one, and an info shows it to who requested the extension", async (context) => {
  const extensions = ["taxNumber"] as const;
  const { registry, client } = await startWithClient(context, { extensions }, { objects, extension: uri });
  const codes = [];
  for (const frame of [contactCreateFrame("plain"), numbered("odd", "12"), numbered("reg-2", "NL12345678")]) {
    codes.push((await client.ask(frame)).code);
  }
  assert.deepEqual(codes, [2003, 2005, 1000]);
  assert.equal(textOf(await client.ask(contactFrame("info", "reg-2")), "taxNumber"), "NL12345678");
  const without = await RawClient.login(registry, "gate-one", "secret-1", { objects });
  context.after(() => without.close());
  assert.doesNotMatch((await without.ask(contactFrame("info", "reg-2"))).xml, /taxNumber/);
});

test("taxNumber: a registry that does not announce it refuses it with 2103", async (context) => {
  const { client } = await startWithClient(context, {}, { objects });
  assert.equal((await client.ask(numbered("reg-2", "NL12345678"))).code, 2103);
});
