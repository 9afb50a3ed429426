/** Launch phases (RFC 8334): names are registered in the general availability only, and a refusal says so. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { assertEnds, creates, place } from "./judge.ts";

const extensions = ["rgp", "launch"] as const;

async function reasonOf(gateway: TestGateway, reseller: TestReseller, name: string): Promise<string> {
  const order = await place(gateway, reseller, name);
  await assertEnds(gateway, reseller, order, "FailedValidation");
  assert.equal(creates(gateway, name).length, 1);
  const { body } = await gateway.send(reseller, "GET", `/orders/${order.code}`);
  return (body as { error_text: string }).error_text;
}

test("a create without the claims notice that its name needs ends with a text that says so", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { extensions, launchPhase: "claims" } });
  const reseller = await gateway.addReseller();
  assert.match(await reasonOf(gateway, reseller, "claims-1.example"), /matches a trademark.*claims notice/);
  // Another name of the same phase, refused for another reason, keeps the registry's words.
  assert.match(await reasonOf(gateway, reseller, "code-2306-1.example"), /^2306 /);
  await assertEnds(gateway, reseller, await place(gateway, reseller, "any.example"), "Finished");
});

test("a create during sunrise ends with a text that says that the suffix is in a launch phase", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { extensions, launchPhase: "sunrise" } });
  const reseller = await gateway.addReseller();
  assert.match(await reasonOf(gateway, reseller, "any.example"), /in a launch phase/);
});

test("a check that shows a claims notice refuses the request, in words", async (t) => {
  const sandbox = { extensions, launchPhase: "claims", checkShowsClaims: true } as const;
  const gateway = await startTestGateway(t, { sandbox });
  const reseller = await gateway.addReseller();
  const body = { domain_name: "claims-1.example" };
  const { status, body: refusal } = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  const { error_code, error_text } = refusal as { error_code: string; error_text: string };
  assert.deepEqual([status, error_code], [400, "domain_availability_blocked"]);
  assert.match(error_text, /matches a trademark.*claims notice/);
  const answer = await gateway.send(reseller, "GET", "/domains/availability?names=claims-1.example,any.example");
  const [claimed, any] = answer.body as { availability: string; reason?: string }[];
  assert.deepEqual([claimed?.availability, any?.availability], ["blocked", "available"]);
  assert.match(claimed?.reason ?? "", /claims notice/);
});
