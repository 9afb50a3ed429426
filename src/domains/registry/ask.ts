/** What the registry shows about a name. */
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { type DomainInfo, domainInfo } from "#registry/epp/commands/domain/info.ts";
import type { Lease, SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export function later({ context }: Pick<RegistrySessions, "context">, delayMs: number): Date {
  return new Date(context.clock.now().getTime() + delayMs);
}

export type NameInfo =
  /**
   * There was no usable answer, or nothing in it says whose the name is; then `shown` is what it says. Not knowing is neither absence
   * nor possession.
   */
  | { is: "unknown"; reason: string; shown?: DomainInfo }
  | { is: "absent" }
  /** By the registrar with this id, where the registry shows names of others. */
  | { is: "held-by-other"; registrar?: string | undefined }
  /** Our registrar account sponsors it; which order registered it is another question. */
  | { is: "held-by-us"; info: DomainInfo };

/** Asks the registry one thing. @throws Error when there is no usable answer: not knowing proves nothing */
export type Ask = <Data>(query: EppCommand<Data>) => Promise<EppResponse<Data>>;

/** Asks on a session of its own. */
export function askOnce(sessions: RegistrySessions, purpose: SessionPurpose): Ask {
  return async (query) => {
    using session = await sessions.pool.acquire(purpose, { waitMs: sessionWaitMs });
    return await session.request(query, { clTRID: sessions.queryClTrid() });
  };
}

/** Asks on a session that the caller holds: while it waits for another one, there may be none left. */
export function askOn(session: Lease, sessions: RegistrySessions): Ask {
  return (query) => session.request(query, { clTRID: sessions.queryClTrid() });
}

/** Never throws. @param purpose its place in the queue for sessions: a night's renewals must not delay a registration */
export function askInfo(
  sessions: RegistrySessions,
  name: string,
  purpose: SessionPurpose = "check",
): Promise<NameInfo> {
  return readInfo(sessions, name, askOnce(sessions, purpose));
}

/** The same on a session that the caller holds. Never throws. */
export function askInfoOn(session: Lease, sessions: RegistrySessions, name: string): Promise<NameInfo> {
  return readInfo(sessions, name, askOn(session, sessions));
}

async function readInfo({ profile }: RegistrySessions, name: string, ask: Ask): Promise<NameInfo> {
  try {
    const { code, data } = await ask(domainInfo(name));
    if (code === 2303) return { is: "absent" };
    if (code === 2201) return { is: "held-by-other" };
    if (code !== 1000 || !data) return { is: "unknown", reason: `info was answered with ${code}` };
    return judgeHolder(profile, data);
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

type InfoPolicy = Pick<RegistryProfile, "registrarId" | "infoWithoutRegistrar">;

/**
 * Whose the name is. Without the clID that RFC 5731 §3.1.2 requires, an authInfo says it: only the sponsor is shown one that it did not
 * send. After that the profile does. A name that is ours by mistake could be sold, and one that is not by mistake would leave.
 */
export function judgeHolder({ registrarId, infoWithoutRegistrar }: InfoPolicy, info: DomainInfo): NameInfo {
  if (info.clID === registrarId) return { is: "held-by-us", info };
  if (info.clID !== undefined) return { is: "held-by-other", registrar: info.clID };
  const isShownSecret = info.authInfo !== undefined && !maskPattern.test(info.authInfo.reveal());
  if (isShownSecret && infoWithoutRegistrar !== "others") return { is: "held-by-us", info };
  if (isShownSecret) return unclaimed(info, "shows an authInfo of the name but no registrar");
  if (infoWithoutRegistrar === "ours") return { is: "held-by-us", info };
  if (infoWithoutRegistrar === "others") return { is: "held-by-other" };
  return unclaimed(info, "does not show whose the name is");
}

/** One character, repeated: some servers write it in place of a secret. */
const maskPattern = /^(.)\1*$/su;

const unclaimed = (shown: DomainInfo, what: string): NameInfo => ({
  is: "unknown",
  reason: `the registry ${what} (infoWithoutRegistrar in its profile)`,
  shown,
});

/** What `<info>` shows of a name of which the registry has said otherwise that we hold it: by its answer to our command, or a message. */
export function shownOfOurs(name: NameInfo): DomainInfo | undefined {
  if (name.is === "held-by-us") return name.info;
  return name.is === "unknown" ? name.shown : undefined;
}
