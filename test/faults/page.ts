/** Prints the results of a run of the matrix into docs/faults.md. */
import { replacePrinted } from "../harness/printed-page.ts";
import { drawnPoints, killPoints } from "./kill-points.ts";
import { allFaults, type Fault } from "./labels.ts";
import { allRows } from "./rows.ts";
import type { RunResult } from "./run-batches.ts";
import { type Subject, subjects } from "./subjects.ts";

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
  const ofSubject = ({ id }: Subject) => run.cases.filter(({ subject }) => subject === id);
  const played = changeSubjects.filter((subject) => ofSubject(subject).length > 0);
  const kinds = played.map((subject) => [partOf(subject), printKind(subject, ofSubject(subject), run, seed)]);
  const created = run.cases.filter(({ subject }) => subject === "create");
  return { ...(created.length > 0 && printRegistrations(created, run, seed)), ...Object.fromEntries(kinds) };
}

type Cases = RunResult["cases"];

const changeSubjects = subjects.filter((subject): subject is Required<Subject> => subject.kind !== undefined);

/** The names of the page's parts, one for each kind: a test compares them to find an outdated page. */
export const kindParts = () => changeSubjects.map(partOf);

const partOf = ({ id }: Subject) => `kind ${id}`;

function printRegistrations(cases: Cases, { kills, faults, seconds, rows }: RunResult, seed: number): Parts {
  return {
    summary: `${printSummary(cases, faults, seed)} ${kills} workers were killed in ${seconds} s, those of the kinds below included.`,
    "kill points": printKillPoints(cases),
    matrix: printMatrix(columns, allFaults, cases),
    rows: printRows(rows),
  };
}

function printKind(subject: Required<Subject>, cases: Cases, { faults }: RunResult, seed: number): string {
  const { kind, points } = subject;
  const labels = subject.faults.map(({ label }) => label);
  const own = faults.filter((fault) => labels.some((label) => fault.startsWith(label)));
  const commands = kind.commands.map(({ name }) => `\`${name}\``).join(", then ");
  const all = [...points, ...drawnPoints];
  const numbers = all.map(({ id }, index) => `${index + 1} \`${id}\``).join(", ");
  return [
    `\`${kind.id}\` sends ${commands}. ${printSummary(cases, own, seed)}`,
    `Kill points: ${numbers}.`,
    printMatrix(all, subject.faults, cases),
  ].join("\n\n");
}

export function printMutations(mutations: MutationResult[]): Parts {
  const rows = mutations.map(({ means, batch, faults }) => [means, batch, String(faults.length), faults[0] ?? "none"]);
  return { mutations: table(["a worker that …", "batch", "sentences of the judge", "one of them"], rows) };
}

/** The first column of the matrix and its head: a test compares them to find an outdated page. */
export function matrixFrame(): { head: string; labels: string[] } {
  return { head: headOf(columns), labels: allFaults.map(({ label }) => `\`${label}\``) };
}

const headOf = (points: readonly object[]) => line(["fault", ...points.map((_, index) => String(index + 1)), "ended"]);

function printSummary(cases: Cases, faults: readonly string[], seed: number): string {
  const reached = cases.filter(({ isReached }) => isReached).length;
  const verdict = faults.length === 0 ? "The judge found nothing wrong." : `The judge found ${faults.length} faults.`;
  return `Seed ${seed}: **${reached} cases** (${cases.length} orders). ${verdict}`;
}

function printKillPoints(cases: Cases): string {
  const rows = columns.map(({ id, means }, index) => {
    const reached = cases.filter((one) => one.point === id && one.isReached).length;
    return [String(index + 1), `\`${id}\``, means, String(reached)];
  });
  return table(["number", "kill point", "the worker is killed", "cases"], rows);
}

function printMatrix(points: readonly { id: string }[], faults: readonly Fault[], cases: Cases): string {
  const byLabel = Map.groupBy(cases, ({ label }) => label);
  const rows = faults.map(({ label }) => {
    const own = byLabel.get(label) ?? [];
    const counts = points.map(({ id }) => {
      const count = own.filter(({ point, isReached }) => point === id && isReached).length;
      return count === 0 ? "" : String(count);
    });
    const ends = [...Map.groupBy(own, ({ status }) => status)].map(([status, some]) => `${status} ${some.length}`);
    return [`\`${label}\``, ...counts, ends.sort().join(", ")];
  });
  return [headOf(points), `|${"---|".repeat(points.length + 2)}`, ...rows.map(line)].join("\n");
}

function printRows(rows: RunResult["rows"]): string {
  return table(["row", ...allRows], [["passed", ...allRows.map((row) => String(rows.get(row) ?? 0))]]);
}

function table(head: string[], rows: string[][]): string {
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function line(cells: string[]): string {
  return `| ${cells.join(" | ")} |`;
}
