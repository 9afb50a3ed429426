import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";

interface Account {
  name: string;
  kind: string;
  key: { id: string; label: string; scopes: string[]; expires_at: string | null; allowed_addresses: string[] };
  limits: Record<string, number>;
  suffixes: ({ suffix: string } & Record<string, unknown>)[];
}

const gateway = await startTestGateway({ after }, { registry: { yearsMax: 5, dataModel: "thin" } });
const reseller = await gateway.addReseller({ rateLimit: 77 });

const readAs = async (asked: typeof reseller) => {
  const { status, body } = await gateway.send(asked, "GET", "/account");
  assert.equal(status, 200);
  return body as Account;
};

test("a key sees its account, itself and its scopes, whatever its scopes are", async () => {
  const expiresAt = new Date(gateway.context.clock.now().getTime() + 86_400_000);
  const key = { scopes: ["hosting:read"] as const, label: "till", expiresAt, allowedAddresses: ["127.0.0.0/8"] };
  const small = await gateway.addKey(reseller, key);
  const own = await readAs(small);
  assert.deepEqual([own.name, own.kind], [reseller.name, "reseller"]);
  assert.deepEqual(own.key, {
    id: small.key.id,
    label: "till",
    scopes: ["hosting:read"],
    expires_at: expiresAt.toISOString(),
    allowed_addresses: ["127.0.0.0/8"],
  });
});

test("no account sees anything of another one", async () => {
  const other = await gateway.addReseller({ rateLimit: 5_000 });
  const text = JSON.stringify(await readAs(other));
  for (const secret of [reseller.name, reseller.key.id, String(reseller.key.secret.reveal())]) {
    assert.ok(!text.includes(secret), secret);
  }
});

test("the limits are the account's own, and paid orders of today are counted", async () => {
  const before = (await readAs(reseller)).limits;
  assert.equal(before.requests_per_minute, 77);
  assert.equal(before.paid_orders_today, 0);
  const order = { body: { domain_name: "counted.example" } };
  assert.equal((await gateway.send(reseller, "POST", "/domains/registrations", order)).status, 202);
  const { limits } = await readAs(reseller);
  assert.deepEqual(limits, { ...before, paid_orders_today: 1 });
  const plain = await readAs(await gateway.addReseller({ kind: "plain" }));
  assert.deepEqual([plain.kind, plain.limits.hosting_accounts, plain.limits.hosting_disk_bytes], ["plain", 0, 0]);
});

test("each suffix on offer has the rules of its registry", async () => {
  const { suffixes } = await readAs(reseller);
  const served = gateway.context.registries.flatMap((registry) => registry.suffixes);
  assert.deepEqual(
    suffixes.map(({ suffix }) => suffix),
    served,
  );
  const example = suffixes.find(({ suffix }) => suffix === "example");
  assert.deepEqual([example?.years_min, example?.years_max, example?.contacts], [1, 5, []]);
});
