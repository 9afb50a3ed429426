/**
 * Messages about transfers of our names to other registrars (RFC 5731 §3.3: `<trnData>`). They may be lost, doubled or late, so
 * each is compared with `<info>`: a message alone neither ends a name here nor shows a transfer that is over.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { judgeAbsence } from "#domains/compare/looks.ts";
import { isApproved, type TransferRecord } from "#domains/portfolio/state.ts";
import { askInfo, later, type NameInfo } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { TransferData } from "#registry/epp/commands/domain/transfer-data.ts";

const findName = statement(
  "transfer-message-name",
  `SELECT EXISTS (SELECT FROM domains WHERE domain_name = $name AND registry_id = $registry_id) AS is_here,
     EXISTS (SELECT FROM domains_ended WHERE domain_name = $name AND registry_id = $registry_id) AS has_left`,
  { is_here: "bool", has_left: "bool" },
);

// A message about an earlier transfer changes nothing about a later one.
const isNotOlder = "(transfer IS NULL OR (transfer->>'requested_at')::timestamptz <= $requested_at::timestamptz)";

const showTransfer = statement(
  "domain-transfer",
  `UPDATE domains SET transfer = $transfer, look_at = $look_at
   WHERE domain_name = $name AND registry_id = $registry_id AND ${isNotOlder}`,
  {},
);

const clearTransfer = statement(
  "domain-transfer-over",
  `UPDATE domains SET transfer = NULL, look_at = $look_at
   WHERE domain_name = $name AND registry_id = $registry_id AND ${isNotOlder} AND transfer IS NOT NULL`,
  {},
);

/** Writes what a message means, in the transaction that stores it. */
export type TransferEffect = (tx: Transaction) => Promise<void>;

/**
 * @param queuedAt when the registry queued the message: no transfer in it was requested later
 * @returns undefined when an operator must read the message, because it is about no name that we have or had
 */
export async function readTransferMessage(
  sessions: RegistrySessions,
  data: TransferData | undefined,
  queuedAt: Date | undefined,
): Promise<TransferEffect | undefined> {
  if (data?.object !== "domain") return undefined;
  const { context, profile } = sessions;
  const toldAt = queuedAt ?? context.clock.now();
  const name = data.id.toLowerCase();
  const [found] = await context.database.query(findName, { name, registry_id: profile.id });
  if (found?.is_here) {
    const seen = await askInfo(sessions, name);
    return (tx) => applyTransfer(sessions, tx, { name, transfer: recordOf(data, toldAt), seen });
  }
  // A name that we have asked for ourselves comes by no order.
  return found?.has_left && data.reID !== profile.registrarId ? async () => {} : undefined;
}

interface Told {
  name: string;
  transfer: TransferRecord;
  seen: NameInfo;
}

async function applyTransfer(
  sessions: RegistrySessions,
  tx: Transaction,
  { name, transfer, seen }: Told,
): Promise<void> {
  const isPending = transfer.status === "pending";
  const now = sessions.context.clock.now();
  const which = { name, registry_id: sessions.profile.id, requested_at: transfer.requested_at };
  if (!isPending && !isApproved(transfer)) await tx.query(clearTransfer, { ...which, look_at: now });
  if (seen.is === "absent" || seen.is === "held-by-other") {
    await judgeAbsence(sessions, tx, name, seen, isPending || isApproved(transfer) ? transfer : undefined);
    return;
  }
  const isAskedFor = seen.is === "held-by-us" && seen.info.statuses.includes("pendingTransfer");
  // Its own approval is late, or about a transfer before we got the name back: the next look decides.
  const isDoubtful = isApproved(transfer) || (isPending && seen.is === "unknown");
  if (!isDoubtful && !(isPending && isAskedFor)) return;
  // A look takes the name's statuses over.
  const lookAt = isDoubtful ? later(sessions, sessions.profile.reconcileIntervalMs) : now;
  await tx.query(showTransfer, { transfer, look_at: lookAt, ...which });
}

/** A transfer as it is stored. @param toldAt takes the place of a reDate that the registry leaves out */
export function recordOf({ status, reDate, reID, acDate }: TransferData, toldAt: Date): TransferRecord {
  const answerBy = acDate && { answer_by: acDate.toISOString() };
  return { status, gaining_registrar: reID, requested_at: (reDate ?? toldAt).toISOString(), ...answerBy };
}
