/**
 * The auth code that the registry shows of a name: one that no order of this database has set was given to somebody in a time that a
 * restored database has lost, or set by others. It is replaced like one that has expired.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** The context of the MAC: it says nothing about equal codes of other names. */
const macContext = "seen-auth-code";
const macData = (name: string, code: string) => JSON.stringify([name, code]);

const seenCode = statement("auth-code-seen", "SELECT mac FROM seen_auth_codes WHERE domain_name = $name", {
  mac: "bytea",
});

const noteSeen = statement(
  "auth-code-note-seen",
  `INSERT INTO seen_auth_codes (domain_name, mac) VALUES ($name, $mac::bytea)
   ON CONFLICT (domain_name) DO UPDATE SET mac = excluded.mac`,
  {},
);

// The chore for expired codes replaces it (src/domains/kinds/auth-code/replace.ts).
const endUnknown = statement(
  "auth-code-end-unknown",
  `INSERT INTO auth_codes (domain_name, registry_id, order_code, expires_at, replace_at)
   VALUES ($name, $registry_id, 'unknown', $now, $now)
   ON CONFLICT (domain_name) DO UPDATE SET order_code = excluded.order_code, code_sealed = NULL,
     expires_at = excluded.expires_at, replace_at = excluded.replace_at`,
  {},
);

/** @returns whether it is another code than the last look has seen; false while none was seen */
export async function isUnknownCode(
  { sealer }: Pick<Context, "sealer">,
  tx: Transaction,
  profile: RegistryProfile,
  { name, authInfo }: Pick<DomainInfo, "name" | "authInfo">,
): Promise<boolean> {
  if (!authInfo || profile.authInfo !== "ours") return false;
  const [seen] = await tx.query(seenCode, { name: name.toLowerCase() });
  return seen !== undefined && !sealer.isHmac(macContext, macData(name.toLowerCase(), authInfo.reveal()), seen.mac);
}

/** Notes the code that the registry shows. @param isUnknown it is replaced, and the one before it can't be read any more */
export async function noteCode(
  { sealer, clock }: Pick<Context, "sealer" | "clock">,
  tx: Transaction,
  profile: RegistryProfile,
  { name: shownName, authInfo, isUnknown }: Pick<DomainInfo, "name" | "authInfo"> & { isUnknown: boolean },
): Promise<void> {
  if (!authInfo || profile.authInfo !== "ours") return;
  const name = shownName.toLowerCase();
  const [mac] = sealer.hmacs(macContext, macData(name, authInfo.reveal()));
  await tx.query(noteSeen, { name, mac: `\\x${mac!.toString("hex")}` });
  if (isUnknown) await tx.query(endUnknown, { name, registry_id: profile.id, now: clock.now() });
}
