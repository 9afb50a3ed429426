/** Tables as CSV: RFC 4180, in UTF-8. */

export type CsvValue = string | number | boolean | null | undefined;

export interface CsvTable<Row> {
  /** Of the file, without its ending. */
  name: string;
  header: readonly string[];
  cells(row: Row, now: Date): CsvValue[];
}

/**
 * Declares the columns of a list, in their order.
 * @param present the public form of a row, which the columns read
 */
export function csvTable<Row, Shown>(
  name: string,
  present: (row: Row, now: Date) => Shown,
  columns: Readonly<Record<string, (shown: Shown) => CsvValue>>,
): CsvTable<Row> {
  const readers = Object.values(columns);
  return {
    name,
    header: Object.keys(columns),
    cells(row, now) {
      const shown = present(row, now);
      return readers.map((read) => read(shown));
    },
  };
}

/** One line, with the CRLF at its end. */
export function csvLine(cells: readonly CsvValue[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** A spreadsheet would take these for the beginning of a formula (OWASP, CSV injection). */
const formulaStart = /^[=+\-@\t\r\n]/;
const needsQuotes = /[",\r\n]/;

function csvCell(value: CsvValue): string {
  const given = value === null || value === undefined ? "" : String(value);
  const text = formulaStart.test(given) ? `'${given}` : given;
  return needsQuotes.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
