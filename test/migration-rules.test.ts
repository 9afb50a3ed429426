/** What db/README.md says of migrations, as far as a machine sees it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Migration, readMigrations, statementsOf } from "#db/migration-files.ts";

interface Rule {
  /** Part of a statement that must not be in a migration. */
  found: RegExp;
  instead: string;
  /** Of an expand only: a contract may remove things. */
  ofExpands?: boolean;
  /** A table that the same file creates is empty, and nobody uses it. */
  exceptNew?: boolean;
}

const constant = String.raw`(?:'[^']*'|-?[\d.]+|true|false|NULL|ARRAY\[\])`;

const rules: readonly Rule[] = [
  {
    found: /\bDROP (?:TABLE|COLUMN|TYPE|FUNCTION|CONSTRAINT|NOT NULL)\b|\bRENAME\b/,
    instead: "the release before still uses it: remove it in a contract of a later release",
    ofExpands: true,
  },
  { found: /\bALTER (?:COLUMN )?\w+ (?:SET DATA )?TYPE\b/, instead: "it rewrites the table: add a column" },
  {
    found: /\bSET NOT NULL\b/,
    instead: "it reads the table under its lock: add CHECK (… IS NOT NULL) NOT VALID",
  },
  {
    found: new RegExp(String.raw`\bADD (?:COLUMN )?[a-z]\w* [^,]*\bDEFAULT (?!${constant}(?:::\w+)?(?:[ ,;]|$))`),
    instead: "a default that is no constant rewrites the table: leave the column null, and let a chore fill it",
    exceptNew: true,
  },
  {
    found: /\bADD (?:COLUMN )?[a-z]\w* (?=[^,]*\bNOT NULL\b)(?![^,]*\bDEFAULT\b)/,
    instead: "rows have no value, and the release before gives none: add a constant default",
    exceptNew: true,
  },
  {
    found: /\bADD (?:COLUMN )?[a-z]\w* [^,]*\b(?:GENERATED|serial|bigserial)\b/,
    instead: "it rewrites the table: leave the column null, and let a chore fill it",
    exceptNew: true,
  },
  {
    found: /\bADD (?:CONSTRAINT \w+ )?(?:CHECK|FOREIGN KEY)\b(?!.*\bNOT VALID\b)/,
    instead: "it reads the table under its lock: add it NOT VALID, and validate it in a file that runs alone",
    exceptNew: true,
  },
  {
    found: /\bADD (?:CONSTRAINT \w+ )?(?:UNIQUE|PRIMARY KEY|EXCLUDE)\b(?!.*\bUSING INDEX\b)/,
    instead: "it builds an index under the table's lock: build the index in a file that runs alone, then add it",
    exceptNew: true,
  },
  {
    found: /^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY)/,
    instead: "writes wait for it: CREATE INDEX CONCURRENTLY in a file that runs alone",
    exceptNew: true,
  },
  {
    found: /^(?:UPDATE|DELETE|MERGE|TRUNCATE|CLUSTER|VACUUM|REINDEX|LOCK)\b|^INSERT\b.*\bSELECT\b/,
    instead: "it holds locks for as long as there are rows: a chore does it, 5,000 rows at a time",
    exceptNew: true,
  },
];

/** @returns what each statement does wrong */
function mistakesIn({ sql, level, isAlone }: Pick<Migration, "sql" | "level" | "isAlone">): string[] {
  const statements = statementsOf(sql)
    .split(";")
    .map((statement) => statement.trim());
  const created = new Set(statements.map((statement) => /^CREATE (?:UNLOGGED )?TABLE (\w+)/.exec(statement)?.[1]));
  return statements.flatMap((statement) => {
    const table = /^(?:ALTER TABLE|UPDATE|DELETE FROM|INSERT INTO|TRUNCATE|CREATE .*?\bON) (\w+)/.exec(statement)?.[1];
    const isNew = table !== undefined && created.has(table);
    return rules
      .filter(({ ofExpands, exceptNew }) => !(ofExpands && level !== "expand") && !(exceptNew && isNew))
      .filter(({ found }) => !isAlone && found.test(statement))
      .map(({ instead }) => `${statement}: ${instead}`);
  });
}

const migrations = await readMigrations(fileURLToPath(new URL("../db/migrations", import.meta.url)));

for (const migration of migrations) {
  test(`${migration.name} keeps the rules of db/README.md`, () => {
    assert.deepEqual(mistakesIn(migration), []);
  });
}

const refused = [
  "ALTER TABLE orders DROP COLUMN note",
  "ALTER TABLE orders RENAME COLUMN note TO remark",
  "ALTER TABLE orders ALTER COLUMN id TYPE numeric",
  "ALTER TABLE orders ALTER COLUMN note SET NOT NULL",
  "ALTER TABLE orders ADD COLUMN seen_at timestamptz DEFAULT now()",
  "ALTER TABLE orders ADD COLUMN code text DEFAULT gen_random_uuid()",
  "ALTER TABLE orders ADD COLUMN code text NOT NULL",
  "ALTER TABLE orders ADD COLUMN half int GENERATED ALWAYS AS (size / 2) STORED",
  "ALTER TABLE orders ADD CONSTRAINT short CHECK (length(code) < 9)",
  "ALTER TABLE orders ADD FOREIGN KEY (reseller_id) REFERENCES resellers",
  "ALTER TABLE orders ADD CONSTRAINT one UNIQUE (code)",
  "CREATE INDEX orders_code ON orders (code)",
  "CREATE UNIQUE INDEX orders_code ON orders (code)",
  "UPDATE orders SET code = 'a'",
  "DELETE FROM orders",
  "INSERT INTO names SELECT domain_name FROM orders",
  "LOCK TABLE orders",
];
const taken = [
  "ALTER TABLE orders ADD COLUMN note text",
  "ALTER TABLE orders ADD COLUMN count int NOT NULL DEFAULT 0",
  "ALTER TABLE orders ADD COLUMN kind text NOT NULL DEFAULT 'plain' CHECK (kind <> '')",
  "ALTER TABLE orders ADD CONSTRAINT short CHECK (length(code) < 9) NOT VALID",
  "ALTER TABLE orders ADD CONSTRAINT one UNIQUE USING INDEX orders_code",
  "CREATE TABLE things (id int, at timestamptz DEFAULT now()); CREATE INDEX things_id ON things (id); INSERT INTO things SELECT 1",
  "INSERT INTO chores (name) VALUES ('new')",
  "CREATE TRIGGER told AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION told()",
];

test("the rules find what rewrites a table, reads it under a lock, or breaks the release before", () => {
  const expand = { level: "expand", isAlone: false } as const;
  for (const sql of refused) assert.equal(mistakesIn({ sql, ...expand }).length, 1, sql);
  for (const sql of taken) assert.deepEqual(mistakesIn({ sql, ...expand }), [], sql);
  const takesAway = { sql: "ALTER TABLE orders DROP COLUMN note", isAlone: false };
  assert.deepEqual(mistakesIn({ ...takesAway, level: "contract" }), []);
});
