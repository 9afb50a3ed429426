/** Prints the results of a run of the matrix into docs/faults.md. */
import { replacePrinted } from "../harness/printed-page.ts";
import { drawnPoints, killPoints } from "./kill-points.ts";
import { allFaults } from "./labels.ts";
import { allRows } from "./rows.ts";
import type { RunResult } from "./run-batches.ts";

/** The findings about a mutated worker. */
export interface MutationResult {
  means: string;
  batch: string;
  faults: string[];
}

const columns = [...killPoints, ...drawnPoints];

/** The text of each printed part of the page, by the part's name. */
export type Parts = Record<string, string>;

/** @throws Error when the page has no such part */
export function printParts(page: string, parts: Parts): string {
  return Object.entries(parts).reduce((text, [name, printed]) => replacePrinted(text, name, printed), page);
}

export function printRun(run: RunResult, seed: number): Parts {
  return {
    summary: printSummary(run, seed),
    "kill points": printKillPoints(run),
    matrix: printMatrix(run),
    rows: printRows(run),
  };
}

export function printMutations(mutations: MutationResult[]): Parts {
  const rows = mutations.map(({ means, batch, faults }) => [means, batch, String(faults.length), faults[0] ?? "none"]);
  return { mutations: table(["a worker that …", "batch", "sentences of the judge", "one of them"], rows) };
}

/** The first column of the matrix and its head: a test compares them to find an outdated page. */
export function matrixFrame(): { head: string; labels: string[] } {
  return { head: line(["fault", ...columns.map((_, index) => String(index + 1)), "ended"]), labels: labelCells() };
}

const labelCells = () => allFaults.map(({ label }) => `\`${label}\``);

function printSummary({ cases, kills, faults, seconds }: RunResult, seed: number): string {
  const reached = cases.filter(({ isReached }) => isReached).length;
  const verdict = faults.length === 0 ? "The judge found nothing wrong." : `The judge found ${faults.length} faults.`;
  return `Seed ${seed}: **${reached} cases** (${cases.length} orders, ${kills} workers killed) in ${seconds} s. ${verdict}`;
}

function printKillPoints({ cases }: RunResult): string {
  const rows = columns.map(({ id, means }, index) => {
    const reached = cases.filter((one) => one.point === id && one.isReached).length;
    return [String(index + 1), `\`${id}\``, means, String(reached)];
  });
  return table(["", "kill point", "the worker is killed", "cases"], rows);
}

function printMatrix({ cases }: RunResult): string {
  const byLabel = Map.groupBy(cases, ({ label }) => label);
  const rows = allFaults.map(({ label }) => {
    const own = byLabel.get(label) ?? [];
    const counts = columns.map(({ id }) => {
      const count = own.filter(({ point, isReached }) => point === id && isReached).length;
      return count === 0 ? "" : String(count);
    });
    const ends = [...Map.groupBy(own, ({ status }) => status)].map(([status, some]) => `${status} ${some.length}`);
    return [`\`${label}\``, ...counts, ends.sort().join(", ")];
  });
  const { head } = matrixFrame();
  return [head, `|${"---|".repeat(columns.length + 2)}`, ...rows.map(line)].join("\n");
}

function printRows({ rows }: RunResult): string {
  return table(["row", ...allRows], [["passed", ...allRows.map((row) => String(rows.get(row) ?? 0))]]);
}

function table(head: string[], rows: string[][]): string {
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function line(cells: string[]): string {
  return `| ${cells.join(" | ")} |`;
}
