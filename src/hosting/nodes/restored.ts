/**
 * A database that was restored from a backup does not know that it is older than it was; its nodes do. Each keeps the highest
 * counter of a command that has reached it. A counter is committed here before it goes out, so a node never knows a higher one
 * than its database, in whatever order commands arrive and whoever is killed in between: one that does was commanded after
 * the backup was made. From then on it may have accounts that nobody here knows, and the wish to remove one may be older than
 * what became of it; so nothing is removed there until an operator says that this database is the one to go on with.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { type CommandCounter, NodeUnavailable } from "#nodes/driver.ts";

const takeCounter = statement(
  "hosting-node-counter-take",
  `UPDATE hosting_nodes SET command_counter = greatest(command_counter, $2) + 1 WHERE id = $1
   RETURNING new.command_counter AS counter, old.command_counter < $2 AS is_behind`,
  { counter: "int8", is_behind: "bool" },
);

const readCounter = statement(
  "hosting-node-counter-read",
  "SELECT command_counter AS counter FROM hosting_nodes WHERE id = $1",
  { counter: "int8" },
);

const markNode = statement(
  "hosting-node-restored-mark",
  "UPDATE hosting_nodes SET restored_at = coalesce(restored_at, $2) WHERE id = $1",
  {},
);

const readRestored = statement(
  "hosting-node-restored-read",
  "SELECT restored_at IS NOT NULL AS is_restored FROM hosting_nodes WHERE id = $1",
  { is_restored: "bool" },
);

/** @param why what the node knows and this database does not, as the end of a sentence about the node */
export async function markRestored(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Pick<Transaction, "query">,
  nodeId: string,
  why: string,
): Promise<void> {
  await tx.query(markNode, [nodeId, context.clock.now()]);
  const note = `the node ${why}: was a backup restored? Nothing is removed there until deedhouse node restored ${nodeId}`;
  await raiseAlarm(context, { kind: "hosting-node-restored", subject: nodeId, note }, tx);
}

/** Counts the commands to a node that is told each of them. */
export function commandCounterOf(context: Context, nodeId: string): CommandCounter {
  const gone = () => new NodeUnavailable(`there is no hosting node ${nodeId} any more`);
  const why = (seen: number, given: number) =>
    `has seen the command ${seen}, and this database has given no more than ${given}`;
  return {
    saw: (seen) =>
      withoutDatabaseErrors(async () => {
        const [known] = await context.database.query(readCounter, [nodeId]);
        if (!known) throw gone();
        if (seen <= known.counter) return;
        await context.database.transaction((tx) => markRestored(context, tx, nodeId, why(seen, known.counter)));
      }),
    take: (seen) =>
      withoutDatabaseErrors(() =>
        context.database.transaction(async (tx) => {
          const [taken] = await tx.query(takeCounter, [nodeId, seen]);
          if (!taken) throw gone();
          if (taken.is_behind) await markRestored(context, tx, nodeId, why(seen, taken.counter - 1));
          return taken.counter;
        }),
      ),
  };
}

/** A driver knows two errors. */
async function withoutDatabaseErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw new NodeUnavailable(error.message, { cause: error });
  }
}

export async function isRestored(database: Pick<Transaction, "query">, nodeId: string): Promise<boolean> {
  const [node] = await database.query(readRestored, [nodeId]);
  return node?.is_restored ?? false;
}

export const removesNothingText = (nodeId: string) =>
  `nothing is removed on the node ${nodeId}, which knows more than this database: was a backup restored? See deedhouse node restored`;

/** @throws NodeUnavailable */
export async function assertMayRemove({ database }: Pick<Context, "database">, nodeId: string): Promise<void> {
  if (await withoutDatabaseErrors(() => isRestored(database, nodeId))) {
    throw new NodeUnavailable(removesNothingText(nodeId));
  }
}
