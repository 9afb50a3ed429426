/**
 * The journal in which earlier releases kept a node's desired states: a line for each state, written before it was applied,
 * and a line once it was in force.
 */
import { readFile, rename } from "node:fs/promises";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { AccountJson, accountFromJson, Uid } from "#nodes/account-json.ts";
import type { AccountState } from "#nodes/agent-node.ts";
import { ignoreMissing } from "#nodes/atomic-file.ts";

const Line = Type.Union([
  Type.Object({ account: AccountJson }),
  Type.Object({ removed: Type.Object({ identifier: Type.String(), uid: Uid }) }),
  Type.Object({ done: Type.Array(Uid) }),
]);
type Line = Static<typeof Line>;

interface OldRecords {
  /** The last state of each account. */
  states: AccountState[];
  /** The uids of those that are in force. */
  finished: number[];
}

/**
 * Has the journal stored elsewhere, and renames it. After a kill in between it is stored again, which changes nothing.
 * @throws when a line is invalid: the node must not forget accounts
 */
export async function importOldRecords(path: string, store: (records: OldRecords) => Promise<void>): Promise<void> {
  const bytes = await readFile(path).catch(ignoreMissing);
  if (bytes === undefined) return;
  const states = new Map<number, AccountState>();
  const unfinished = new Set<number>();
  // A crash may have left a partial line, of a change that was not acknowledged.
  const text = bytes.subarray(0, bytes.lastIndexOf("\n") + 1).toString("utf8");
  for (const line of text
    .split("\n")
    .slice(0, -1)
    .map((each) => parseLine(path, each))) {
    if ("done" in line) {
      for (const uid of line.done) unfinished.delete(uid);
      continue;
    }
    const state = stateOf(line);
    states.set(state.account.uid, state);
    unfinished.add(state.account.uid);
  }
  await store({ states: [...states.values()], finished: [...states.keys()].filter((uid) => !unfinished.has(uid)) });
  await rename(path, `${path}.imported`);
}

function stateOf(line: Exclude<Line, { done: number[] }>): AccountState {
  if ("account" in line) return { kind: "account", account: accountFromJson(line.account) };
  return { kind: "removed", account: line.removed };
}

function parseLine(path: string, text: string): Line {
  try {
    return Value.Parse(Line, JSON.parse(text));
  } catch {
    // The parser's message would quote the line, which contains a hash.
    throw new Error(`${path} contains an invalid line: restore it from a backup`);
  }
}
