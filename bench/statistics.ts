/** A summary of a series. Machines are shared and noisy: the median is the result, the spread says how far to trust it. */
export interface Summary {
  count: number;
  median: number;
  p95: number;
  min: number;
  max: number;
}

export function summarize(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((left, right) => left - right);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
  return { count: sorted.length, median: at(0.5), p95: at(0.95), min: at(0), max: at(1) };
}

/** The middle one of a few. */
export function medianOf(values: readonly number[]): number {
  return summarize(values).median;
}

/** Prints a Markdown table. */
export function printTable(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const cells = [columns, ...rows.map((row) => row.map(formatCell))];
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))),
  );
  const rule = widths.map((width) => "-".repeat(width));
  for (const line of lines.toSpliced(1, 0, rule)) process.stdout.write(`| ${line.join(" | ")} |\n`);
}

function formatCell(cell: string | number): string {
  if (typeof cell === "string") return cell;
  return Number.isInteger(cell) || Math.abs(cell) >= 1_000 ? cell.toFixed(0) : cell.toPrecision(3);
}

/** A series as cells: median, p95, min, max. */
export function summaryCells(samples: readonly number[]): number[] {
  const { median, p95, min, max } = summarize(samples);
  return [median, p95, min, max];
}
