import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { DomainFees } from "#registry/epp/commands/domain/fee.ts";
import { refusalOfLabel } from "#registry/idn.ts";
import { premiumDecision } from "#registry/premium.ts";

describe("the letters that a registry accepts", () => {
  const profile = { idn: { example: ["00DF-00F6", "00F8-00FF", "0131"], test: ["0430-044F", "20BB7"] } };

  test("are a to z, digits and the hyphen everywhere", () => {
    for (const suffix of ["example", "test", "elsewhere"]) {
      assert.equal(refusalOfLabel(profile, suffix, "plain-name-1"), undefined);
    }
  });

  test("are also those of the suffix's table, including the ends of ranges", () => {
    for (const label of ["straße", "ö", "ÿ", "ı", "über-1"]) {
      assert.equal(refusalOfLabel(profile, "example", label), undefined, label);
    }
    assert.equal(refusalOfLabel(profile, "test", "правда"), undefined);
    assert.equal(refusalOfLabel(profile, "test", "𠮷"), undefined);
  });

  test("are no others: the refusal names the first other one and the suffix", () => {
    const refusal = "has the character U+00F7, which the registry of .example does not accept";
    assert.equal(refusalOfLabel(profile, "example", "a÷b×c"), refusal);
    assert.match(refusalOfLabel(profile, "test", "straße") ?? "", /U\+00DF.*\.test /);
    assert.match(refusalOfLabel(profile, "test", "правдa𠮸") ?? "", /U\+20BB8/);
  });

  test("are only LDH where the suffix has no table", () => {
    const refusal = "has letters other than a to z, which the registry of .elsewhere does not accept";
    assert.equal(refusalOfLabel(profile, "elsewhere", "straße"), refusal);
  });
});

describe("a premium name", () => {
  const premium = { amountMax: 100, currency: "EUR" };
  const ordinary = { amount: 9, currency: "EUR" };
  const fees = (own: Partial<DomainFees>, amount?: string, isStandard = false): { fees: DomainFees } => ({
    fees: {
      currency: "EUR",
      class: "premium",
      prices: [{ command: "create", periodYears: 1, amount, isStandard, reason: undefined }],
      ...own,
    },
  });
  const unclassed = { class: undefined };
  const accepted = { decision: "accept", amount: "100.00", currency: "EUR" };

  for (const [what, policy, availability, decision] of [
    ["is accepted up to the policy's amount, at the registry's price", premium, fees({}, "100.00"), accepted],
    ["is refused above it", premium, fees({}, "100.01"), "refuse"],
    ["is refused in another currency", premium, fees({ currency: "USD" }, "1.00"), "refuse"],
    ["is refused without a policy", undefined, fees({}, "0.01"), "refuse"],
    ["is refused without a price", premium, fees({}), "refuse"],
    ["is refused when only other commands are priced", premium, fees({ prices: [] }), "refuse"],
    ["is standard where this command has its standard price", undefined, fees({}, "9.00", true), "standard"],
    ["is standard when its class is standard, in any case", undefined, fees({ class: "Standard" }, "9.00"), "standard"],
    ["is standard without a class at the ordinary price", undefined, fees(unclassed, "9.00"), "standard"],
    ["is standard where the registry gives no prices", undefined, {}, "standard"],
    ["is one without a class above the ordinary price", undefined, fees(unclassed, "9.01"), "refuse"],
    ["is one of the standard class above the ordinary price", undefined, fees({ class: "standard" }, "9.01"), "refuse"],
    ["is one at its command's standard price above the ordinary price", premium, fees({}, "100.00", true), accepted],
    ["is one in another currency than the ordinary price", undefined, fees({ currency: "USD" }, "1", true), "refuse"],
    ["is one without class and price where others have a price", undefined, fees(unclassed), "refuse"],
  ] as const) {
    test(what, () => {
      assert.deepEqual(premiumDecision({ premium: policy, ordinary }, availability), decision);
    });
  }

  test("is recognized by its class where no ordinary price is known", () => {
    const decide = (availability: { fees: DomainFees }) =>
      premiumDecision({ premium: undefined, ordinary: undefined }, availability);
    assert.equal(decide(fees({ class: "standard" }, "9.00")), "standard");
    assert.equal(decide(fees({}, "9.00", true)), "standard");
    assert.equal(decide(fees({}, "9.00")), "refuse");
    assert.equal(decide(fees(unclassed, "9.00")), "refuse");
    assert.equal(decide(fees(unclassed)), "standard");
  });

  test("is one by its price alone where it is renewed or restored, if an ordinary price is known", () => {
    for (const command of ["renew", "restore"] as const) {
      const decide = (own: Partial<DomainFees>, amount: string | undefined, known?: typeof ordinary) => {
        const prices = [{ command, periodYears: 1, amount, isStandard: false, reason: undefined }];
        return premiumDecision({ premium: undefined, ordinary: known }, fees({ prices, ...own }), command);
      };
      assert.equal(decide({}, "9.00", ordinary), "standard", "of a class of its own, at the ordinary price");
      assert.equal(decide({ class: "standard" }, "9.01", ordinary), "refuse");
      assert.equal(decide({ currency: "USD" }, "9.00", ordinary), "refuse");
      assert.equal(decide({}, undefined), "refuse", "of a class of its own, without a price");
      assert.equal(decide(unclassed, undefined), "standard", "without class and price");
      assert.equal(decide({ class: "standard" }, "9.00"), "standard");
      assert.equal(decide(unclassed, "9.00"), "refuse", "without class, and no ordinary price is known");
    }
  });

  test("is not one because a sum of year prices is no exact float", () => {
    const threeYears = { amount: 3 * 10.1, currency: "EUR" };
    const decision = premiumDecision({ premium: undefined, ordinary: threeYears }, fees(unclassed, "30.30"));
    assert.equal(decision, "standard");
  });
});
