/** Accounts as JSON: on a node's disk, and in messages to it. */
import { type Static, Type } from "typebox";
import { Secret } from "#lib/secret.ts";
import type { DesiredAccount } from "#nodes/driver.ts";

const identifierCharsMax = 243;
const hostNamesMax = 1_000;
const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";

/** An account's identifier is a canonical host name, so it is safe as an FTP user name and as a Host header. */
export const Identifier = Type.String({ maxLength: identifierCharsMax, pattern: `^${label}(\\.${label})*$` });

export const Uid = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 });

/** Only bcrypt `$2b$`, the one format that all kinds of nodes read. */
export const PasswordHash = Type.String({ pattern: "^\\$2b\\$[0-9]{2}\\$[./A-Za-z0-9]{53}$" });

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A DesiredAccount as JSON, on disk and in messages. */
export const AccountJson = Type.Object(
  {
    identifier: Identifier,
    uid: Uid,
    passwordHash: Type.Union([PasswordHash, Type.Null()]),
    diskBytesMax: count,
    filesMax: count,
    sessionsMax: count,
    ftpEnabled: Type.Boolean(),
    suspended: Type.Boolean(),
    hostNames: Type.Array(Identifier, { maxItems: hostNamesMax, uniqueItems: true, default: [] }),
  },
  { additionalProperties: false },
);

export type AccountJson = Static<typeof AccountJson>;

export function accountFromJson(json: AccountJson): DesiredAccount {
  const { passwordHash, ...rest } = json;
  return { ...rest, passwordHash: passwordHash === null ? undefined : new Secret(passwordHash) };
}

/** The JSON form, with the hash unsealed: only for the account's file and messages to the node. */
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
    hostNames: [...account.hostNames],
  };
}
