// The commands' output on stdout: the API's own JSON for scripts, aligned text for people. Both use the API's field
// names.

/** Prints a value as indented JSON. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Prints one object as lines of name and value; nested names are joined with a dot: `ftp.host`. */
export function printFields(record: object): void {
  const fields = flatten(record);
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) process.stdout.write(`${name.padEnd(width)}  ${value}\n`);
}

/** Prints objects as a table of the given fields; a field that no object has is left out. */
export function printTable(records: readonly object[], columns: readonly string[]): void {
  const rows = records.map((record) => new Map(flatten(record)));
  const shown = columns.filter((column) => rows.some((row) => row.has(column)));
  const widths = shown.map((column) => Math.max(column.length, ...rows.map((row) => row.get(column)?.length ?? 0)));
  const printRow = (cells: string[]) => {
    const line = cells.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  ");
    process.stdout.write(`${line.trimEnd()}\n`);
  };
  if (rows.length > 0) printRow(shown.map((column) => column.toUpperCase()));
  for (const row of rows) printRow(shown.map((column) => row.get(column) ?? ""));
}

function flatten(record: object, prefix = ""): [name: string, value: string][] {
  return Object.entries(record).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    if (Array.isArray(value)) return [[prefix + name, printable(value.map(text).join(", "))]];
    if (typeof value === "object" && value !== null) return flatten(value, `${prefix}${name}.`);
    return [[prefix + name, printable(text(value))]];
  });
}

function text(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Control characters could move the cursor or recolour the terminal. */
function printable(value: string): string {
  return value.replace(/[\u0000-\u001f\u007f-\u009f]/g, "�");
}
