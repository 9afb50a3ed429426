/** What the node keeps about an account: one JSON file per account, named by uid, mode 0600, replaced atomically. */
import { readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "typebox";
import { Value } from "typebox/value";
import { Secret } from "#lib/secret.ts";
import type { DesiredAccount } from "../driver.ts";
import { unfinishedSuffix, unlinkDurably, writeFileAtomic } from "./atomic-file.ts";

const identifierCharsMax = 243;
const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";

/** An account's identifier is a canonical host name, which is also what makes it a safe FTP user and Host header. */
export const Identifier = Type.String({ maxLength: identifierCharsMax, pattern: `^${label}(\\.${label})*$` });

export const Uid = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Only bcrypt `$2b$`, the one format that every node kind reads. */
export const PasswordHash = Type.String({ pattern: "^\\$2b\\$[0-9]{2}\\$[./A-Za-z0-9]{53}$" });

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const limitFields = {
  diskBytesMax: count,
  filesMax: count,
  sessionsMax: count,
  ftpEnabled: Type.Boolean(),
};

/** A DesiredAccount as JSON, on disk and on the control port. */
export const AccountJson = Type.Object(
  {
    identifier: Identifier,
    uid: Uid,
    passwordHash: Type.Union([PasswordHash, Type.Null()]),
    ...limitFields,
    suspended: Type.Boolean(),
  },
  { additionalProperties: false },
);

export type AccountJson = Static<typeof AccountJson>;

export function accountFromJson(json: AccountJson): DesiredAccount {
  const { passwordHash, ...rest } = json;
  return { ...rest, passwordHash: passwordHash === null ? undefined : new Secret(passwordHash) };
}

/** The JSON form, hash in clear: for the account's file and the control port only. */
export function accountToJson(account: DesiredAccount): AccountJson {
  return {
    identifier: account.identifier,
    uid: account.uid,
    passwordHash: account.passwordHash?.reveal() ?? null,
    diskBytesMax: account.diskBytesMax,
    filesMax: account.filesMax,
    sessionsMax: account.sessionsMax,
    ftpEnabled: account.ftpEnabled,
    suspended: account.suspended,
  };
}

/**
 * Reads all records of a folder and deletes what a crash left half written.
 * @throws when a file is no account record: the node must not start without an account it had
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
    // The parser's message would quote the file, which holds a hash.
    throw new Error(`${path} is not an account record: restore it from a backup, or remove it to give the account up`);
  }
}
