/** Some registries demand the same text in every command: it is in their profile, and is sent as it is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { assertEnds, creates, place } from "./judge.ts";

const namestoreUri = "http://www.verisign-grs.com/epp/namestoreExt-1.1";
const namestore = (product: string) =>
  `<ns:namestoreExt xmlns:ns="${namestoreUri}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
    xsi:schemaLocation="${namestoreUri} n.xsd"><ns:subProduct>${product}</ns:subProduct></ns:namestoreExt>`;
const commands = ["check", "create", "info", "update", "contact:create", "contact:info", "host:check", "host:create"];
const everywhere = Object.fromEntries(commands.map((command) => [command, namestore("SHOP")]));
const sandbox = { extensions: ["namestoreExt"] as const, subProduct: "SHOP" };

test("fixed text of the profile is in each command that it is for, byte by byte, and its namespace in the login", async (t) => {
  const gateway = await startTestGateway(t, { sandbox, registry: { extensions: everywhere } });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "shop.example");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.ok(creates(gateway, order.name)[0]?.xml?.includes(`<extension>${namestore("SHOP")}</extension><clTRID>`));
  const { journal } = gateway.registry.store;
  assert.match(journal.entries({ command: "login" })[0]?.xml ?? "", new RegExp(`<extURI>${namestoreUri}</extURI>`));
  // It follows what the command has in its extension anyway.
  const fees = await startTestGateway(t, {
    sandbox: { ...sandbox, extensions: ["fee", "namestoreExt"] },
    registry: { extensions: everywhere, premium: { amountMax: 100, currency: "EUR" } },
  });
  const buyer = await fees.addReseller();
  const premium = await place(fees, buyer, "premium-1.example");
  await assertEnds(fees, buyer, premium, "Finished");
  assert.match(creates(fees, premium.name)[0]?.xml ?? "", /<fee:create .*<\/fee:create><ns:namestoreExt /);
});

test("without the text that it demands, such a registry refuses the command", async (t) => {
  const { create: _create, ...others } = everywhere;
  const gateway = await startTestGateway(t, { sandbox, registry: { extensions: others } });
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "shop.example"), "FailedValidation");
});
