/** The stored desired states: one JSON file per account, named by uid, mode 0600, replaced atomically. */
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";

import { Value } from "typebox/value";
import { AccountJson, accountFromJson, accountToJson } from "#nodes/account-json.ts";
import { unfinishedSuffix, unlinkDurably, writeFileAtomic } from "#nodes/atomic-file.ts";
import type { DesiredAccount } from "#nodes/driver.ts";

/**
 * Reads all records of a folder, and deletes files that a crash left half-written.
 * @throws when a file is not an account record: the node must not start without one of its accounts
 */
export async function readRecords(folder: string): Promise<DesiredAccount[]> {
  const records: DesiredAccount[] = [];
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    if (name.endsWith(unfinishedSuffix)) await unlink(path);
    else records.push(parseRecord(path, await readFile(path, "utf8")));
  }
  return records;
}

export async function writeRecord(folder: string, account: DesiredAccount): Promise<void> {
  await writeFileAtomic(recordPath(folder, account.uid), `${JSON.stringify(accountToJson(account))}\n`);
}

export async function removeRecord(folder: string, uid: number): Promise<void> {
  await unlinkDurably(recordPath(folder, uid));
}

function recordPath(folder: string, uid: number): string {
  return join(folder, `${uid}.json`);
}

function parseRecord(path: string, text: string): DesiredAccount {
  try {
    return accountFromJson(Value.Parse(AccountJson, JSON.parse(text)));
  } catch {
    // The parser's message would quote the file, which contains a hash.
    throw new Error(`${path} is not an account record: restore it from a backup, or remove it to give the account up`);
  }
}
