/** What the registry says about an order's name: the question that decides whatever a lost answer hid. */
import type { Context } from "#context.ts";
import { readCreateAttempts } from "#domains/orders/attempts.ts";
import { authInfoRow, type Order, type OrderHappening, type Registered } from "#domains/orders/orders.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { type DomainInfo, domainInfo } from "#registry/epp/commands/domain/info.ts";
import type { Lease } from "#registry/epp/pool/pool.ts";

/** How much earlier than our first attempt a registry's clock may date our own object. */
const clockSkewMs = 5 * 60_000;
/** When nobody could be asked for this long, an operator should know. */
const unansweredAlarmMs = 24 * 60 * 60_000;

export type NameInfo =
  /** There was no answer to build on. Not knowing is not absence. */
  | { is: "unknown"; reason?: string | undefined }
  | { is: "absent" }
  | { is: "held-by-other" }
  /** By our registrar account; through which order is another question. */
  | { is: "held-by-us"; info: DomainInfo };

export async function askInfo(sessions: RegistrySessions, order: Order): Promise<NameInfo> {
  try {
    using session = await sessions.pool.acquire("check", { waitMs: sessionWaitMs });
    return await askInfoOn(session, sessions, order);
  } catch {
    return { is: "unknown" };
  }
}

/** The same on a session that the caller has. Never throws. */
export async function askInfoOn(session: Lease, sessions: RegistrySessions, order: Order): Promise<NameInfo> {
  try {
    const { code, data } = await session.request(domainInfo(order.domain_name), { clTRID: sessions.queryClTrid() });
    if (code === 2303) return { is: "absent" };
    if (code === 2201) return { is: "held-by-other" };
    if (code !== 1000 || !data) return { is: "unknown", reason: `info was answered with ${code}` };
    return data.clID === sessions.profile.registrarId ? { is: "held-by-us", info: data } : { is: "held-by-other" };
  } catch {
    return { is: "unknown" };
  }
}

/** Row 19: asked again, for as long as it takes; after a day an operator is told. */
export function stillUnknown({ clock }: Context, order: Order, reason?: string): OrderHappening {
  const since = order.cancel_requested_at ?? order.created_at;
  const isLong = clock.now().getTime() - since.getTime() > unansweredAlarmMs;
  return {
    event: "verify-lost",
    countsAsFailure: true,
    reason,
    confirmAfter: order.confirm_after ?? undefined,
    ...(isLong && { operatorNote: "the registry has not said for a day what became of the name" }),
  };
}

/** Row 19, just after a takeover: what the owner before this one has sent may still arrive, and is not sent again meanwhile. */
export function notYetRepeatable({ clock }: Pick<Context, "clock">, order: Order, lateMs: number): OrderHappening {
  return {
    event: "verify-lost",
    reason: "the worker before this one may have sent a command that is still on its way",
    confirmAfter: order.confirm_after ?? undefined,
    nextStepAt: new Date(clock.now().getTime() + lateMs),
  };
}

/**
 * Whether the object is this order's: its authInfo came back, or, where the registry does not show it, it was created
 * no earlier than five minutes before our first attempt (whole seconds: registries' clocks differ from ours).
 */
export async function isOrdersOwn(context: Context, order: Order, info: DomainInfo): Promise<boolean> {
  if (info.authInfo) {
    const own = context.sealer.open(authInfoRow(order.order_code), order.auth_info_sealed);
    return info.authInfo.reveal() === own.reveal();
  }
  const { first_at } = await readCreateAttempts(context.database, order.id);
  if (!first_at || !info.crDate) return false;
  const seconds = (time: number) => Math.floor(time / 1000);
  return seconds(info.crDate.getTime()) >= seconds(first_at.getTime() - clockSkewMs);
}

/** What a held name's domain row needs; `undefined` when the registry does not tell its dates. */
export function registeredOf(info: DomainInfo): Registered | undefined {
  if (!info.crDate || !info.exDate) return undefined;
  return { registeredAt: info.crDate, expiresAt: info.exDate, status: info.statuses[0] ?? "ok" };
}
