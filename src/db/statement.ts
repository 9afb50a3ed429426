/**
 * SQL is written by hand beside its use and typed once, by its column map. Every statement registers itself here, so
 * that one test can PREPARE all of them against the migrated schema and compare the columns PostgreSQL announces with
 * the columns the code believes in.
 */

interface ColumnTypes {
  text: string;
  uuid: string;
  /** Decimal digits as text: a double would round them. */
  numeric: string;
  int4: number;
  /** A safe integer; a larger value fails the query. */
  int8: number;
  bool: boolean;
  timestamptz: Date;
  jsonb: unknown;
  bytea: Buffer;
  "text[]": string[];
}

export type ColumnType = keyof ColumnTypes;

/** A PostgreSQL type, with a trailing `?` when the value may be null. */
export type Column = ColumnType | `${ColumnType}?`;

export type Columns = Readonly<Record<string, Column>>;

/** The row that a column map describes. */
export type RowOf<C extends Columns> = {
  [Name in keyof C]: C[Name] extends `${infer Type extends ColumnType}?`
    ? ColumnTypes[Type] | null
    : C[Name] extends ColumnType
      ? ColumnTypes[C[Name]]
      : never;
};

/** What a placeholder takes. Objects are sent as JSON, arrays as PostgreSQL arrays; `undefined` does not compile. */
export type SqlValue = string | number | bigint | boolean | null | object;

export interface Statement<Row> {
  /** The name it is prepared under, unique in the program. */
  readonly name: string;
  readonly text: string;
  readonly columns: Columns;
  /** Carries the row type; no such value exists at run time. */
  readonly row?: Row;
}

/** PostgreSQL cuts longer names off (NAMEDATALEN − 1), and two statements would become one. */
const nameBytesMax = 63;

const statements = new Map<string, Statement<unknown>>();

/**
 * Declares a statement. Call it at module level, once.
 * @param columns what it returns, by column name; `{}` for nothing
 * @throws when the name is taken or longer than 63 bytes
 */
export function statement<const C extends Columns>(name: string, text: string, columns: C): Statement<RowOf<C>> {
  if (statements.has(name)) throw new Error(`two statements are named "${name}": give each its own name`);
  if (Buffer.byteLength(name) > nameBytesMax) throw new Error(`"${name}" is longer than ${nameBytesMax} bytes`);
  const declared: Statement<RowOf<C>> = { name, text, columns };
  statements.set(name, declared);
  return declared;
}

/** Every statement declared by the modules loaded so far. */
export function allStatements(): Statement<unknown>[] {
  return [...statements.values()];
}
