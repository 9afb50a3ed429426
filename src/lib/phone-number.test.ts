import assert from "node:assert/strict";
import { test } from "node:test";
import { parsePhoneNumber } from "#lib/phone-number.ts";

test("a number is written as RFC 5733 writes it, with or without its dot", () => {
  for (const [text, expected] of [
    ["+32.25550100", "+32.25550100"],
    ["+3225550100", "+32.25550100"],
    ["+1 (202) 555-0100", "+1.2025550100"],
    ["+7 495 123 45 67", "+7.4951234567"],
    ["+420 222 123 456", "+420.222123456"],
    ["+352.27123456", "+352.27123456"],
    ["+35227123456", "+352.27123456"],
    ["+590590123456", "+590.590123456"],
    ["+8801712345678", "+880.1712345678"],
    ["+998712345678", "+998.712345678"],
    ["+971.4123456", "+971.4123456"],
  ]) {
    assert.equal(parsePhoneNumber(text!), expected, text);
  }
});

test("what is no number with its country's code is refused", () => {
  for (const text of [
    "",
    "+",
    "0225550100",
    "25550100",
    "+0.123456",
    "+32.2555x",
    "+1234567890123456",
    "+32",
    "+32.",
    "++3225550100",
    "+3225550100 ext. 1",
  ]) {
    assert.equal(parsePhoneNumber(text), undefined, text);
  }
});
