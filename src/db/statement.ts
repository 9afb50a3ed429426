/**
 * SQL is handwritten next to its use and typed once, by its column map. Every statement registers itself here, so that one test
 * can PREPARE all of them against the migrated schema and compare the columns that PostgreSQL reports with the declared ones.
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

/**
 * A PostgreSQL type, with a trailing `?` when the value may be null; or the texts that a column may contain, with
 * `null` among them when it may be null: `status: hostingStatuses`, `phase: [...phases, null]`.
 */
export type Column = ColumnType | `${ColumnType}?` | readonly (string | null)[];

export type Columns = Readonly<Record<string, Column>>;

/** The row that a column map describes. */
export type RowOf<C extends Columns> = {
  [Name in keyof C]: C[Name] extends readonly (string | null)[]
    ? C[Name][number]
    : C[Name] extends `${infer Type extends ColumnType}?`
      ? ColumnTypes[Type] | null
      : C[Name] extends ColumnType
        ? ColumnTypes[C[Name]]
        : never;
};

/** The same column where it may be null, e.g. on the outer side of a join. */
export function orNull(column: Column): Column {
  if (typeof column === "string") return `${column.replace("?", "") as ColumnType}?`;
  return column.includes(null) ? column : [...column, null];
}

/** The value of a parameter. Objects are sent as JSON, arrays as PostgreSQL arrays; `undefined` does not compile. */
export type SqlValue = string | number | bigint | boolean | null | object;

/** The values of a statement's parameters, by name. */
export type SqlValues = Readonly<Record<string, SqlValue>>;

type Lower = Letters<"abcdefghijklmnopqrstuvwxyz">;
type Letters<Text> = Text extends `${infer First}${infer Rest}` ? First | Letters<Rest> : never;
type NameSymbol = Lower | Uppercase<Lower> | Letters<"0123456789_">;
type LeadingName<Text, Name extends string = ""> = Text extends `${infer First extends NameSymbol}${infer Rest}`
  ? LeadingName<Rest, `${Name}${First}`>
  : Name;
/** A dollar sign without a name is the end of a line in a regular expression. */
type ParameterNames<Text> = Text extends `${string}$${infer Rest}`
  ? Exclude<LeadingName<Rest>, ""> | ParameterNames<Rest>
  : never;

/**
 * The values of a statement with this text. If the compiler does not know the text, names are checked at run time only.
 */
export type ValuesOf<Text extends string> = string extends Text
  ? SqlValues
  : { readonly [Name in ParameterNames<Text>]: SqlValue };

export interface Statement<Row, Values extends SqlValues = SqlValues> {
  /** The name of the prepared statement, unique in the program. */
  readonly name: string;
  /** With its parameters as `$1`, `$2`, …: the form that PostgreSQL takes. */
  readonly text: string;
  /** The names of its parameters, in the order of their positions. */
  readonly parameters: readonly string[];
  readonly columns: Columns;
  /** Carry the types; these values do not exist at run time. */
  readonly row?: Row;
  readonly values?: Values;
}

/** PostgreSQL truncates longer names (NAMEDATALEN − 1), and two statements would become one. */
const nameBytesMax = 63;

const statements = new Map<string, Statement<unknown>>();

const namedParameter = /\$([A-Za-z_]\w*)/g;

/**
 * Declares a statement. Call it at module level, once.
 * @param text its parameters have names: `$reseller_id`
 * @param columns the columns that it returns, by name; `{}` for none
 * @throws when the name is taken or longer than 63 bytes, or a parameter has no name
 */
export function statement<const Text extends string, const C extends Columns>(
  name: string,
  text: Text,
  columns: C,
): Statement<RowOf<C>, ValuesOf<Text>> {
  if (statements.has(name)) throw new Error(`two statements are named "${name}": give each its own name`);
  if (Buffer.byteLength(name) > nameBytesMax) throw new Error(`"${name}" is longer than ${nameBytesMax} bytes`);
  const parameters = [...new Set(Array.from(text.matchAll(namedParameter), ([, parameter]) => parameter!))];
  if (/\$\d/.test(text)) throw new Error(`"${name}" has a parameter without a name: name it, such as $reseller_id`);
  const positioned = text.replace(namedParameter, (_, parameter: string) => `$${parameters.indexOf(parameter) + 1}`);
  const declared = { name, text: positioned, parameters, columns };
  statements.set(name, declared);
  return declared;
}

/**
 * A statement's values in the order of its positions.
 * @throws when a value is missing
 */
export function valuesInOrder({ name, parameters }: Statement<unknown>, values: SqlValues): readonly SqlValue[] {
  return parameters.map((parameter) => {
    const value = values[parameter];
    if (value === undefined) throw new Error(`"${name}" was given no value for $${parameter}`);
    return value;
  });
}

/** All statements of the modules loaded so far. */
export function allStatements(): Statement<unknown>[] {
  return [...statements.values()];
}
