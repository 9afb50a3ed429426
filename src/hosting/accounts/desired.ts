import type { Context } from "#context.ts";
import { type Account, passwordHashRow } from "#hosting/accounts/accounts.ts";
import type { DesiredAccount } from "#nodes/driver.ts";

/** What an account's node has to have: all of it from the account's row. @throws UnreadableSecret without its master key */
export function desiredAccount({ sealer }: Pick<Context, "sealer">, account: Account): DesiredAccount {
  return {
    identifier: account.identifier,
    uid: account.uid,
    passwordHash: sealer.open(passwordHashRow(account.identifier), account.password_hash_sealed),
    diskBytesMax: account.disk_quota_bytes,
    filesMax: account.files_max,
    sessionsMax: account.ftp_sessions_max,
    // While the last files of an account that moves are copied, nobody may add to them.
    ftpEnabled: account.has_ftp && !account.is_frozen,
    suspended: account.suspended_at !== null,
    hostNames: account.host_names,
  };
}
