/** What a renewal and a restore cost (RFC 8748): ordinary prices are agreed to in the command, premium ones need the policy. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RegistryProfile } from "#registry/registries.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import { until } from "../orders/judge.ts";
import { operated } from "../orders/operate.ts";
import { alarmedOrders } from "../orders/stage.ts";
import { own, type Stage, startStage } from "../renewals/stage.ts";
import { change, domain, order, received } from "./stage.ts";

interface Options {
  registry?: Partial<RegistryProfile>;
  sandbox?: Partial<Settings>;
}

async function startWith(scope: Scope, name: string, { registry, sandbox }: Options = {}): Promise<Stage> {
  const stage = await startStage(scope, { registry, sandbox: { restoreReport: false, ...sandbox } });
  await own(stage, name);
  return stage;
}

const policy = { amountMax: 100, currency: "EUR" };

/** Orders that cost money, with the price of each in the sandbox. */
const paid = [
  { what: "renew", command: "domain:renew", element: "renew", amount: "20.00", prices: { renew: 10 } },
  { what: "restore", command: "domain:update", element: "update", amount: "50.00", prices: { restore: 50 } },
] as const;
type Paid = (typeof paid)[number];

/** Brings a name into the state in which it can be ordered. @returns what is sent to the API */
async function prepare(stage: Stage, { what }: Paid, name: string): Promise<["POST", string, object?]> {
  if (what === "renew") {
    const { expiration_date } = await domain(stage, name);
    return ["POST", `/domains/${name}/renewals`, { years: 2, expiration_date }];
  }
  await stage.travel(20);
  assert.equal((await change(stage, "DELETE", `/domains/${name}?confirm=${name}`)).status, "Finished");
  return ["POST", `/domains/${name}/restores`];
}

const priceChecks = (stage: Stage, { what }: Paid, name: string) =>
  received(stage, name, "domain:check").filter(({ xml }) => xml?.includes(`command name="${what}"`));

const fee = ({ element }: Paid, amount: string) =>
  new RegExp(`fee:${element}[ >].*currency>EUR<.*fee>${amount.replace(".", "\\.")}<`, "s");

for (const kind of paid) {
  const { what, command, amount } = kind;

  test(`a ${what} agrees to the price that the registry asks, so that one that demands its fee executes it`, async (t) => {
    const name = `plain-${what}.example`;
    const demanded = { sandbox: { feeDemanded: true }, registry: { createFee: "always" } } as const;
    const stage = await startWith(t, name, demanded);
    const ended = await change(stage, ...(await prepare(stage, kind, name)));
    assert.equal(ended.status, "Finished", String(ended.error_text));
    const [sent, ...others] = received(stage, name, command);
    assert.match(sent?.xml ?? "", fee(kind, amount));
    assert.deepEqual(others, []);
    assert.equal(priceChecks(stage, kind, name).length, 1);
    const shown = await operated(stage.gateway, "orders", "show", String(ended.order_code));
    assert.equal(shown.fee, `${amount} EUR`);
  });

  test(`a ${what} at a registry without fees asks for no price, and names none`, async (t) => {
    const name = `free-${what}.example`;
    const stage = await startWith(t, name, { sandbox: { extensions: ["rgp", "secDNS"] } });
    assert.equal((await change(stage, ...(await prepare(stage, kind, name)))).status, "Finished");
    assert.doesNotMatch(received(stage, name, command)[0]?.xml ?? "", /epp:fee/);
    assert.deepEqual(priceChecks(stage, kind, name), []);
  });

  describe(`a ${what} above the ordinary price is refused before anything is sent, and its text names the price`, () => {
    const cases: [string, Options][] = [
      ["without a policy", {}],
      ["above the policy's maximum", { registry: { premium: { ...policy, amountMax: 99.99 } } }],
      ["at a registry that calls no name premium", { sandbox: { premiumClass: "none" } }],
      ["at one that calls every name standard", { sandbox: { premiumClass: "standard" } }],
      [
        "with the ordinary price in the profile",
        { sandbox: { premiumClass: "none" }, registry: { prices: { ...kind.prices, currency: "EUR" } } },
      ],
    ];
    for (const [when, options] of cases) {
      test(when, async (t) => {
        const name = `${what}-premium-1.example`;
        const stage = await startWith(t, name, options);
        const ended = await change(stage, ...(await prepare(stage, kind, name)));
        assert.equal(ended.status, "FailedValidation");
        assert.equal(ended.error_code, "order_refused");
        const [own, ordinary] = what === "renew" ? ["200.00", "20"] : ["100.00", "50"];
        assert.match(
          String(ended.error_text),
          new RegExp(`costs ${own} EUR, and it is ${ordinary} EUR for other names`),
        );
        assert.deepEqual(received(stage, name, command), []);
      });
    }
  });

  test(`a ${what} at a premium price that the policy allows agrees to that price`, async (t) => {
    const name = `${what}-premium-1.example`;
    const stage = await startWith(t, name, { registry: { premium: { ...policy, amountMax: 200 } } });
    assert.equal((await change(stage, ...(await prepare(stage, kind, name)))).status, "Finished");
    assert.match(received(stage, name, command)[0]?.xml ?? "", fee(kind, what === "renew" ? "200.00" : "100.00"));
  });

  test(`a ${what} that is refused because of its fee asks for the price again`, async (t) => {
    const name = `${what}-once-2004-1.example`;
    const stage = await startWith(t, name);
    assert.equal((await change(stage, ...(await prepare(stage, kind, name)))).status, "Finished");
    assert.deepEqual([received(stage, name, command).length, priceChecks(stage, kind, name).length], [2, 2]);
  });

  test(`a ${what} whose price is not told sends nothing, and calls an operator only if the registry refuses to`, async (t) => {
    const name = `untold-${what}.example`;
    const stage = await startWith(t, name);
    const { gateway, reseller } = stage;
    const request = await prepare(stage, kind, name);
    const refuse = (code: number) =>
      gateway.registry.setFaults({ commands: [{ command: "domain:check", as: "refuse", code }] });
    refuse(2400);
    const location = await order(stage, ...request);
    await until("it has asked twice", async () => priceChecks(stage, kind, name).length > 1);
    assert.deepEqual(await alarmedOrders(gateway), []);
    refuse(2306);
    await until("an operator is called", async () => (await alarmedOrders(gateway)).length > 0);
    assert.deepEqual(received(stage, name, command), []);
    gateway.registry.setFaults({ commands: [] });
    stage.clock.skip(1);
    assert.equal((await gateway.settled(reseller, location)).status, "Finished");
    assert.deepEqual(await alarmedOrders(gateway), []);
  });

  test(`a price that rises after a ${what} was sent decides nothing about it, but about the next one`, async (t) => {
    for (const [label, end] of [
      ["drop-after", "Finished"],
      ["drop-before", "FailedValidation"],
    ] as const) {
      const name = `${what}-${label}-1.example`;
      const prices: { renew?: number; restore?: number; currency: string } = { ...kind.prices, currency: "EUR" };
      const stage = await startWith(t, name, { registry: { prices } });
      const { gateway, reseller } = stage;
      const request = await prepare(stage, kind, name);
      const hold = gateway.registry.hold({ command: `domain:${what}`, name, at: "before-execution", times: 1 });
      const location = await order(stage, ...request);
      await hold.reached(1);
      for (const priced of ["renew", "restore"] as const) prices[priced] = 1;
      hold.release();
      assert.equal((await gateway.settled(reseller, location)).status, end, label);
      assert.equal(received(stage, name, command).length, 1, label);
    }
  });
}

test("where the registry says nothing about names that nobody has, a class says whether a price is ordinary", async (t) => {
  for (const [premiumClass, end] of [
    ["premium", "Finished"],
    ["none", "FailedValidation"],
  ] as const) {
    const name = "classed.example";
    const stage = await startWith(t, name, { sandbox: { premiumClass } });
    const { gateway, reseller } = stage;
    const { expiration_date } = await domain(stage, name);
    const hold = gateway.registry.hold({ command: "domain:check", name, at: "before-answer" });
    const location = await order(stage, "POST", `/domains/${name}/renewals`, { years: 1, expiration_date });
    await hold.reached(1);
    gateway.registry.setFaults({ commands: [{ command: "domain:check", as: "refuse", code: 2306, times: 1 }] });
    hold.release();
    const ended = await gateway.settled(reseller, location);
    assert.equal(ended.status, end, premiumClass);
    if (end !== "Finished") assert.match(String(ended.error_text), /10\.00 EUR, and it is unknown for other names/);
  }
});

test("what an ordinary renewal costs is asked once a day, suffix and number of years", async (t) => {
  const names = ["one.example", "two.example", "three.test", "four.example"];
  const stage = await startWith(t, names[0]!);
  await own(stage, ...names.slice(1));
  const { journal } = stage.gateway.registry.store;
  const asked = () =>
    journal
      .entries({ command: "domain:check" })
      .filter(
        ({ direction, name, xml }) =>
          direction === "in" && /^[a-z]{20}\./.test(name ?? "") && /"renew"/.test(xml ?? ""),
      ).length;
  const renew = async (name: string, years: number) => {
    const { expiration_date } = await domain(stage, name);
    const ended = await change(stage, "POST", `/domains/${name}/renewals`, { years, expiration_date });
    assert.equal(ended.status, "Finished", name);
  };
  for (const [name, years, times] of [
    ["one.example", 1, 1],
    ["two.example", 1, 1],
    ["three.test", 1, 2],
    ["one.example", 2, 3],
  ] as const) {
    await renew(name, years);
    assert.equal(asked(), times, `${name}, ${years} years`);
  }
  await stage.travel(2);
  await renew("four.example", 1);
  assert.equal(asked(), 4);
});
