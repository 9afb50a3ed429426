import assert from "node:assert/strict";
import { test } from "node:test";
import { isAnotherDate, periodsBetween, termAfter } from "#domains/registry/terms.ts";

const date = (text: string) => new Date(`${text}T12:00:00.000Z`);

test("a term that begins on 29 February ends on 28 February where the year has no other", () => {
  assert.deepEqual(termAfter(date("2028-02-29"), 1), date("2029-02-28"));
  assert.deepEqual(termAfter(date("2028-02-29"), 4), date("2032-02-29"));
  assert.deepEqual(termAfter(date("2027-12-31"), 1), date("2028-12-31"));
});

test("periods are counted although registries treat leap days differently", () => {
  const cases: [base: string, exDate: string, periodYears: number, periods: number][] = [
    ["2027-11-21", "2027-11-21", 1, 0],
    ["2027-11-21", "2028-11-10", 1, 0],
    ["2027-11-21", "2028-11-21", 1, 1],
    ["2027-11-21", "2028-11-20", 1, 1],
    ["2028-02-29", "2029-03-01", 1, 1],
    ["2027-11-21", "2029-11-10", 1, 1],
    ["2027-11-21", "2029-11-21", 1, 2],
    ["2027-11-21", "2037-11-21", 1, 2],
    ["2027-11-21", "2028-11-21", 2, 0],
    ["2027-11-21", "2029-11-21", 2, 1],
    ["2027-11-21", "2020-01-01", 1, 0],
  ];
  for (const [base, exDate, periodYears, periods] of cases) {
    assert.equal(periodsBetween(date(base), date(exDate), periodYears), periods, `${base} → ${exDate}`);
  }
});

test("two expiry dates that differ by a day are the same, by a week they are not", () => {
  assert.equal(isAnotherDate(date("2028-02-28"), date("2028-02-29")), false);
  assert.equal(isAnotherDate(date("2028-02-28"), date("2028-02-21")), true);
});
