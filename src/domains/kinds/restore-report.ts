/**
 * The report of a restore (RFC 3915 §4.2.5). What the registry shows of the name is its data before the deletion and after it. It
 * can be personal, so it is kept out of every record, as a secret.
 */
import { Secret } from "#lib/secret.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { RestoreReport } from "#registry/epp/commands/domain/restore.ts";

/** The two statements of ICANN's Redemption Grace Period. */
const statements = [
  "This registrar has not restored the Registered Name in order to assume the rights to use or sell the Registered Name for itself or for any third party.",
  "The information in this report is true to best of this registrar's knowledge, and this registrar acknowledges that intentionally supplying false information in this report constitutes an incurable material breach of the Registry-Registrar Agreement.",
] as const;

export function reportOf(info: DomainInfo, deletedAt: Date, restoredAt: Date): RestoreReport {
  const data = new Secret(describe(info));
  return { preData: data, postData: data, deletedAt, restoredAt, reason: "Registrant error.", statements };
}

function describe({ name, registrant, contacts, nameServers, crDate, exDate }: DomainInfo): string {
  const lines = [
    `Domain: ${name}`,
    ...(registrant === undefined ? [] : [`Registrant: ${registrant}`]),
    ...contacts.map(({ type, id }) => `Contact (${type}): ${id}`),
    ...(nameServers?.hosts.map((host) => `Name server: ${host.name}`) ?? []),
    ...(crDate ? [`Registered: ${crDate.toISOString()}`] : []),
    ...(exDate ? [`Expires: ${exDate.toISOString()}`] : []),
  ];
  return lines.join("; ");
}
