/** Phone numbers of a panel's customers. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { repository } from "../harness/running-system.ts";
import { skip } from "./panel.ts";

const script = `
  require $argv[1];
  $write = static fn (array $one): string => Deedhouse\\Panel\\Phone::international(...$one);
  echo json_encode(array_map($write, json_decode($argv[2])));
`;

/** @param numbers each with the calling code that the panel knows */
function written(numbers: [string, string][]): string[] {
  const file = join(repository, "integrations/common/src/Phone.php");
  const ended = spawnSync("php", ["-r", script, file, JSON.stringify(numbers)], { encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
  return JSON.parse(ended.stdout) as string[];
}

function assertWritten(table: [number: string, callingCode: string, expected: string][]): void {
  const results = written(table.map(([number, code]) => [number, code]));
  assert.deepEqual(
    results,
    table.map(([, , expected]) => expected),
  );
}

test("the 0 that is dialled within a country only is left out", { skip }, () => {
  assertWritten([
    ["020 7946 0001", "44", "+44.2079460001"],
    ["2079460001", "+44", "+44.2079460001"],
    ["+44.02079460001", "", "+44.2079460001"],
    ["+44 (0)20 7946 0001", "44", "+44.2079460001"],
    ["0044 20 7946 0001", "44", "+44.2079460001"],
    ["(030) 901820", "49", "+49.30901820"],
    ["02/555.01.00", "0032", "+32.25550100"],
    ["06 1 234 5678", "36", "+36.12345678"],
    ["01 55 1234 5678", "52", "+52.5512345678"],
    ["021 234 5678", "353", "+353.212345678"],
  ]);
});

test("the 0 that belongs to the number stays, as in Italy", { skip }, () => {
  assertWritten([
    ["06 6982 1234", "39", "+39.0669821234"],
    ["+39.0669821234", "", "+39.0669821234"],
    ["0039 06 6982 1234", "39", "+39.0669821234"],
    ["347 123 4567", "39", "+39.3471234567"],
    ["0549 882 914", "378", "+378.0549882914"],
    ["07 12 34 56 78", "225", "+225.0712345678"],
    ["01 97 12 34 56", "229", "+229.0197123456"],
    ["06 612 3456", "242", "+242.066123456"],
  ]);
});

test("a number keeps what it says itself about its country", { skip }, () => {
  assertWritten([
    ["+1 (202) 555-0100", "44", "+1.2025550100"],
    ["+32.25550100", "44", "+32.25550100"],
    ["+352 27 12 34 56", "", "+352.27123456"],
  ]);
});

test("what is no number, or has no country, is left for the service to refuse", { skip }, () => {
  assertWritten([
    ["", "44", ""],
    ["020 7946 0001", "", "020 7946 0001"],
    ["020 7946 0001 ext. 5", "44", "020 7946 0001 ext. 5"],
    ["none", "44", "none"],
  ]);
});
