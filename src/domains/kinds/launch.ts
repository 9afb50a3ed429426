/**
 * Names in a launch phase (RFC 8334). We register in the general availability only: during sunrise a create needs a mark, and in
 * the claims phase some names need a claims notice that their registrant has acknowledged. Registries refuse other creates by
 * codes and texts that say nothing about it, so after a refusal they are asked.
 */
import type { Order } from "#domains/orders/order.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import { claimsCheck, claimsReason, openPhaseCheck } from "#registry/epp/commands/domain/launch.ts";
import { launchNamespace } from "#registry/epp/namespaces.ts";

/** The codes by which registries refuse a create that does not fit the phase; RFC 8334 §3.3 prescribes none. */
const refusalCodes = [2003, 2004, 2005, 2304, 2306, 2308];
/** RFC 5730 §3: a phase that is not the present one is a value that the policy does not allow. */
const otherPhaseCodes = [2004, 2304, 2306];

/** Why the registry refused a create, if that was the launch phase and the registry says so. Never throws. */
export async function launchObstacle(
  sessions: RegistrySessions,
  { domain_name: name }: Order,
  code: number,
): Promise<string | undefined> {
  if (!refusalCodes.includes(code)) return undefined;
  try {
    using session = await sessions.pool.acquire("check", { waitMs: sessionWaitMs });
    if (!session.extensionURIs.includes(launchNamespace)) return undefined;
    const claims = await session.request(claimsCheck(name), { clTRID: sessions.queryClTrid() });
    if (claims.data === true) return claimsReason;
    const open = await session.request(openPhaseCheck(name), { clTRID: sessions.queryClTrid() });
    if (isSuccess(open.code) || !otherPhaseCodes.includes(open.code)) return undefined;
    return "the suffix is in a launch phase: names under it cannot be registered generally yet, and applications are not made here";
  } catch {
    // The registry's own words remain.
    return undefined;
  }
}
