/** Names that nobody can register through the API: a whole name, or a bare label, which blocks it under every suffix. */
import { statement } from "#db/statement.ts";
import { parseDomainName } from "#lib/domain-name.ts";
import type { OperatorContext } from "#resellers/create.ts";

const insertBlock = statement(
  "block-insert",
  "INSERT INTO blocked_names (name, reason, created_at) VALUES ($name, $reason, $now) ON CONFLICT (name) DO NOTHING",
  {},
);
const deleteBlock = statement("block-delete", "DELETE FROM blocked_names WHERE name = $name RETURNING name", {
  name: "text",
});

const listBlocks = statement(
  "blocks",
  "SELECT name, reason, created_at FROM blocked_names ORDER BY name LIMIT $rows_max",
  {
    name: "text",
    reason: "text",
    created_at: "timestamptz",
  },
);

/** By name; a name without a dot is blocked under every suffix. */
export async function listBlockedNames({ database }: Pick<OperatorContext, "database">, limit: number) {
  return database.query(listBlocks, { rows_max: limit });
}

/** @throws InvalidDomainName */
export async function blockName(context: OperatorContext, text: string, reason: string): Promise<string> {
  const name = canonical(text);
  await context.database.query(insertBlock, { name, reason, now: context.clock.now() });
  return name;
}

/** Returns false when it was not blocked. @throws InvalidDomainName */
export async function unblockName(context: OperatorContext, text: string): Promise<boolean> {
  return (await context.database.query(deleteBlock, { name: canonical(text) })).length > 0;
}

function canonical(text: string): string {
  if (text.includes(".")) return parseDomainName(text);
  // A label has the same canonical form alone as in a name.
  const [label] = parseDomainName(`${text}.example`).split(".");
  return label ?? text;
}
