import { addDays, addMonths } from "./clock.ts";
import { type EventContext, notify, recordEvent } from "./events.ts";
import { gracesInForce, withGrace } from "./graces.ts";
import { removeName } from "./hosts-below.ts";
import type { Deletion, Domain } from "./objects.ts";
import type { Settings } from "./settings.ts";
import { approveTransfer, cancelTransfer } from "./transfers.ts";

/**
 * The events of a name without a command: RFC 5731 §2.3 and RFC 3915 §3. Each function takes the name as it is when the event
 * falls due, changes the store and writes to the journal.
 */

type Act = (context: EventContext, domain: Domain) => void;

export interface Due {
  at: string;
  act: Act;
}

const autoRenewMonths = 12;

const deletionActs: Record<Deletion["stage"], Act> = {
  redemptionPeriod: endRedemption,
  pendingRestore: lapseRestore,
  pendingDelete: purge,
};

/** The next event of the name, unless a command changes it before. */
export function dueOf(domain: Domain, { atExpiry }: Settings): Due | undefined {
  const { scheduled, deletion, transfer, exDate } = domain;
  const dues: Due[] = [];
  if (scheduled && scheduled.action !== "never") dues.push({ at: scheduled.dueAt, act: decide });
  if (transfer?.status === "pending") dues.push({ at: transfer.acDate, act: approveByItself });
  if (deletion) dues.push({ at: deletion.until, act: deletionActs[deletion.stage] });
  else if (!domain.statuses.includes("pendingCreate")) {
    dues.push({ at: exDate, act: atExpiry === "auto-renew" ? autoRenew : expire });
  }
  return dues.sort((one, other) => Date.parse(one.at) - Date.parse(other.at))[0];
}

/** Decides a create as its name's label requested. */
function decide(context: EventContext, domain: Domain): void {
  const { action, clTRID, svTRID } = domain.scheduled!;
  if (action === "approve" || action === "lose") {
    const statuses = domain.statuses.filter((status) => status !== "pendingCreate");
    context.store.domains.put({ ...domain, statuses, scheduled: undefined });
  } else {
    removeName(context, domain.name);
  }
  if (action === "approve" || action === "deny") {
    const approved = action === "approve";
    const text = approved ? "The pending create was approved" : "The pending create was denied";
    notify(context, domain, { text, approved, clTRID, svTRID });
  }
  recordEvent(context, domain, action, { clTRID, svTRID });
}

/** The losing registrar has not answered: RFC 5731 §3.2.4 leaves the outcome to the registry; most registries approve. */
function approveByItself(context: EventContext, domain: Domain): void {
  approveTransfer(context, domain, "serverApproved");
  recordEvent(context, domain, "transfer-approve");
}

function autoRenew(context: EventContext, domain: Domain): void {
  const exDate = addMonths(new Date(domain.exDate), autoRenewMonths).toISOString();
  const graces = withGrace(context, domain, "autoRenewPeriod", autoRenewMonths);
  context.store.domains.put({ ...domain, exDate, graces });
  notify(context, domain, { text: `The name was renewed automatically until ${exDate}` });
  recordEvent(context, domain, "auto-renew");
}

/** Like country-code registries without automatic renewal: the name leaves the zone, and its registrar can restore it. */
function expire(context: EventContext, domain: Domain): void {
  const isKept = startDeletion(context, cancelTransfer(context, domain, "serverCancelled"));
  notify(context, domain, {
    text: isKept ? "The name expired and can be restored" : "The name expired and was deleted",
  });
  recordEvent(context, domain, "expire");
}

/**
 * Starts the deletion of a name: redemption, then pendingDelete, then removal; stages of 0 days are skipped. Years that were
 * paid for within a current grace period are taken back.
 *
 * @returns whether the name still exists
 */
export function startDeletion(
  context: EventContext,
  domain: Domain,
  trids: Pick<Deletion, "clTRID" | "svTRID"> = {},
): boolean {
  const { redemption, pendingDelete } = context.settings.graceDays;
  const now = context.now();
  if (redemption === 0 && pendingDelete === 0) {
    removeName(context, domain.name);
    return false;
  }
  const stage = redemption > 0 ? "redemptionPeriod" : "pendingDelete";
  const until = addDays(now, redemption > 0 ? redemption : pendingDelete).toISOString();
  const undoneMonths = gracesInForce(domain, now).reduce((sum, { months }) => sum + months, 0);
  context.store.domains.put({
    ...domain,
    // pendingDelete excludes the statuses that prohibit a deletion (RFC 5731 §2.3).
    statuses: [...domain.statuses.filter((status) => !status.endsWith("DeleteProhibited")), "pendingDelete"],
    exDate: addMonths(new Date(domain.exDate), -undoneMonths).toISOString(),
    graces: [],
    deletion: { stage, until, ...trids },
  });
  return true;
}

function endRedemption(context: EventContext, domain: Domain): void {
  const { pendingDelete } = context.settings.graceDays;
  if (pendingDelete === 0) {
    purge(context, domain);
    return;
  }
  const until = addDays(context.now(), pendingDelete).toISOString();
  context.store.domains.put({ ...domain, deletion: { ...domain.deletion, stage: "pendingDelete", until } });
  recordEvent(context, domain, "redemption-end");
}

/** No report arrived in time: the name returns to its stage before the restore request (RFC 3915 §3.1). */
function lapseRestore(context: EventContext, domain: Domain): void {
  const until = addDays(context.now(), context.settings.graceDays.redemption).toISOString();
  context.store.domains.put({ ...domain, deletion: { ...domain.deletion, stage: "redemptionPeriod", until } });
  notify(context, domain, { text: "The restore lapsed: no report came in time" });
  recordEvent(context, domain, "restore-lapse");
}

function purge(context: EventContext, domain: Domain): void {
  const { clTRID, svTRID } = domain.deletion!;
  removeName(context, domain.name);
  // A pending delete that a command began ends with a message that names the command (RFC 5731 §3.3).
  notify(context, domain, { text: "The name was deleted", ...(svTRID && { approved: true, clTRID, svTRID }) });
  recordEvent(context, domain, "purge", { clTRID, svTRID });
}
