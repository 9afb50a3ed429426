/**
 * `npm run test:attack`: loads that try to keep others from being served, each on a system of its own (docs/security.md).
 *
 *   npm run test:attack                       every attack
 *   npm run test:attack -- pipelining         one of them
 *   npm run test:attack -- --seconds 60       longer ones
 *   npm run test:attack -- --page             prints the table into docs/security.md
 *
 * It fails when a victim was not served, waited longer than it may beside the control, or memory was not bounded.
 */
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { replacePrinted } from "../harness/printed-page.ts";
import { attackNames, loadAttack } from "./load-attack.ts";
import { play, type Result } from "./play.ts";

const page = new URL("../../docs/security.md", import.meta.url);
const secondsDefault = 20;
/** The victim's p99 beside the control's, on the same cores. */
const slowdownMax = 5;
/** A control of a few milliseconds says nothing about a factor. */
const p99MsFloor = 50;
const memoryMbMax = 200;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string", default: String(secondsDefault) },
    page: { type: "boolean", default: false },
  },
});
const known = attackNames();
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no attack called ${unknown.join(", ")}. There are: ${known.join(", ")}\n`);
  process.exit(2);
}

const rows: string[] = [];
let failedCount = 0;
const names = positionals.length > 0 ? positionals : known;
for (const name of names) {
  const attack = await loadAttack(name);
  process.stdout.write(`${name}: ${attack.about}\n`);
  const result = await play(attack, Number(values.seconds) * 1000);
  const breaches = breachesOf(result);
  if (breaches.length > 0) failedCount++;
  for (const breach of breaches) process.stdout.write(`  ✖ ${breach}\n`);
  rows.push(rowOf(result));
  process.stdout.write(`  ${rows.at(-1)}\n`);
}
if (values.page) await writeFile(page, printTable(await readFile(page, "utf8")));
process.stdout.write(`${names.length - failedCount} passed, ${failedCount} failed\n`);
process.exitCode = failedCount === 0 ? 0 : 1;

function breachesOf({ control, attacked, memoryBeforeMb, memoryHighestMb }: Result): string[] {
  const allowedMs = slowdownMax * Math.max(control.p99Ms, p99MsFloor);
  const grownMb = memoryHighestMb - memoryBeforeMb;
  return [
    ...new Set([...control.failures, ...attacked.failures].map((failure) => `the victim was not served: ${failure}`)),
    ...(attacked.p99Ms > allowedMs
      ? [`the victim's p99 is ${attacked.p99Ms.toFixed(0)} ms, allowed are ${allowedMs.toFixed(0)}`]
      : []),
    ...(grownMb > memoryMbMax ? [`memory grew by ${grownMb.toFixed(0)} MB, allowed are ${memoryMbMax}`] : []),
  ];
}

function rowOf({ attack, control, attacked, memoryBeforeMb, memoryHighestMb }: Result): string {
  const times = ({ medianMs, p99Ms }: Result["control"]) => `${medianMs.toFixed(0)} / ${p99Ms.toFixed(0)}`;
  const cells = [
    `\`${attack.name}\`: ${attack.about}`,
    `\`${attack.victim}\``,
    times(control),
    times(attacked),
    String(attacked.failures.length),
    `${memoryBeforeMb.toFixed(0)} → ${memoryHighestMb.toFixed(0)}`,
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The page with the rows of today between its two marks. */
function printTable(text: string): string {
  const head = "| attack | victim | control: median / p99 ms | attack: median / p99 ms | not served | memory, MB |";
  return replacePrinted(text, "attacks", [head, "|---|---|---|---|---|---|", ...rows].join("\n"));
}
