/** Names that a registry allocates only with a token (RFC 8495), which is a secret from the request to the order's end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { assertEnds, creates } from "./judge.ts";
import { openAlarms } from "./stage.ts";

const token = "sandbox-token";
/** The registry asks nothing after the request, or is asked again before the create. */
const asked = [{}, { checkFreshMs: 0 }];

async function order(gateway: TestGateway, reseller: TestReseller, body: { domain_name: string }) {
  const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  const location = reply.headers.location ?? "";
  return { reply, order: { name: body.domain_name, location, code: location.slice(location.lastIndexOf("/") + 1) } };
}

/** The entry about `allocation_token` in a 400. */
function refusalOf(reply: { status: number; body: unknown }): string | undefined {
  assert.equal(reply.status, 400);
  const { validation_errors: errors = [] } = reply.body as {
    validation_errors?: { field: string; error_text: string }[];
  };
  return errors.find(({ field }) => field === "allocation_token")?.error_text;
}

for (const context of asked) {
  test(`a name is registered with its token, ${JSON.stringify(context)}`, async (t) => {
    const gateway = await startTestGateway(t, { context });
    const reseller = await gateway.addReseller();
    const placed = await order(gateway, reseller, { domain_name: "token-1.example", allocation_token: token } as never);
    assert.equal(placed.reply.status, 202, placed.reply.text);
    await assertEnds(gateway, reseller, placed.order, "Finished");
    // The sandbox's journal hides it.
    assert.match(
      creates(gateway, placed.order.name)[0]?.xml ?? "",
      /<allocationToken:allocationToken[^>]*>\[redacted\]</,
    );
  });
}

test("without its token, or with another one, the request says what is missing", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const { reply } = await order(gateway, reseller, { domain_name: "token-1.example" });
  const refusal = reply.body as { error_code: string; error_text: string };
  assert.equal(refusal.error_code, "domain_availability_blocked");
  assert.match(refusal.error_text, /allocation token/);
  const wrong = { domain_name: "token-1.example", allocation_token: "another-token" };
  assert.equal(
    refusalOf((await order(gateway, reseller, wrong)).reply),
    "The registry does not allocate this name with this token.",
  );
  for (const allocation_token of ["", "with space", "x".repeat(256), "schlüssel"]) {
    const malformed = { domain_name: "token-1.example", allocation_token };
    assert.match(refusalOf((await order(gateway, reseller, malformed)).reply) ?? "", /1 to 255 printable/);
  }
  assert.deepEqual(creates(gateway, "token-1.example"), []);
});

test("a registry without allocation tokens gets none, and the answer names the field", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { extensions: ["rgp"] } });
  const reseller = await gateway.addReseller();
  const { reply } = await order(gateway, reseller, { domain_name: "any.example", allocation_token: token } as never);
  assert.match(refusalOf(reply) ?? "", /takes no allocation tokens/);
});

test("a token that the registry refuses at the create ends its order alone, and pauses nothing", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const hold = gateway.registry.hold({ command: "domain:create", name: "token-1.example", at: "before-execution" });
  const placed = await order(gateway, reseller, { domain_name: "token-1.example", allocation_token: token } as never);
  await hold.reached(1);
  // Used up meanwhile.
  gateway.registry.setFaults({ commands: [{ command: "domain:create", as: "refuse", code: 2201, times: 1 }] });
  hold.release();
  await assertEnds(gateway, reseller, placed.order, "FailedValidation");
  assert.deepEqual(await openAlarms(gateway), []);
  const next = await order(gateway, reseller, { domain_name: "next.example" });
  await assertEnds(gateway, reseller, next.order, "Finished");
});

test("a token is nowhere in clear, and erased at the order's end", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const gateway = await startTestGateway(t, { context: { log } });
  const reseller = await gateway.addReseller();
  const kept = async () => {
    const sealed = "SELECT FROM orders WHERE allocation_token_sealed IS NOT NULL";
    return (await runSql(gateway.databaseUrl, sealed)).length;
  };
  const assertNowhere = async (answers: string) => {
    const places = { answers, log: lines.join(), database: await dumpDatabase(gateway.databaseUrl) };
    for (const [place, text] of Object.entries(places)) {
      for (const form of ["utf8", "hex", "base64"] as const) {
        const written = Buffer.from(token).toString(form).replace(/=+$/, "");
        assert.ok(text.length > 0 && !text.includes(written), `${place}, as ${form}`);
      }
    }
  };
  const hold = gateway.registry.hold({ command: "domain:create", name: "token-1.example", at: "before-execution" });
  const body = { domain_name: "token-1.example", allocation_token: token };
  const placed = await order(gateway, reseller, body);
  await hold.reached(1);
  assert.equal(await kept(), 1);
  await assertNowhere(JSON.stringify(placed.reply.headers));
  hold.release();
  await assertEnds(gateway, reseller, placed.order, "Finished");
  assert.equal(await kept(), 0);
  const shown = await gateway.send(reseller, "GET", `/orders/${placed.order.code}`);
  const dry = await gateway.send(reseller, "POST", "/domains/registrations", {
    body: { ...body, domain_name: "token-2.example", dry_run: true },
  });
  assert.equal(dry.status, 200, dry.text);
  await assertNowhere(shown.text + dry.text);
});
