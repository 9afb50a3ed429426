import { addDays, addMonths } from "./clock.ts";
import { type EventContext, notify, recordEvent } from "./events.ts";
import { gracesInForce, withGrace } from "./graces.ts";
import { removeName } from "./hosts-below.ts";
import type { Contact, Decision, Deletion, Domain, Host } from "./objects.ts";
import { report, settled, withoutPending } from "./pending.ts";
import { otherRegistrarId, type Settings } from "./settings.ts";
import { askForTransfer, endTransfer } from "./transfers.ts";

/**
 * The events of a name without a command: RFC 5731 §2.3 and RFC 3915 §3. Each function takes the name as it is when the event
 * falls due, changes the store and writes to the journal.
 */

type Act = (context: EventContext, domain: Domain) => void;

export interface Due<Row = Domain> {
  at: string;
  act: (context: EventContext, row: Row) => void;
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
  if (scheduled && scheduled.action !== "never") dues.push({ at: scheduled.dueAt, act });
  const at = leavingTimeOf(domain);
  if (at !== undefined) dues.push({ at, act: leave });
  if (transfer?.status === "pending") dues.push({ at: transfer.acDate, act: approveByItself });
  if (deletion) dues.push({ at: deletion.until, act: deletionActs[deletion.stage] });
  else if (!domain.statuses.includes("pendingCreate")) {
    dues.push({ at: exDate, act: atExpiry === "auto-renew" ? autoRenew : expire });
  }
  return dues.sort((one, other) => Date.parse(one.at) - Date.parse(other.at))[0];
}

/** When another registrar requests the transfer: it waits until no status prohibits one. */
function leavingTimeOf({ leavesAt, statuses, upDate = leavesAt }: Domain): string | undefined {
  if (leavesAt === undefined || upDate === undefined) return undefined;
  const isProhibited = statuses.some((status) => /^pending|TransferProhibited$/.test(status));
  return isProhibited ? undefined : Date.parse(upDate) > Date.parse(leavesAt) ? upDate : leavesAt;
}

/** The decision about a host's pending command, or a contact's. */
export function decisionOf<Row extends Host | Contact>(
  { scheduled }: Row,
  decideRow: (context: EventContext, row: Row, decision: Decision) => void,
): Due<Row> | undefined {
  if (!scheduled || scheduled.action === "never") return undefined;
  const decision = scheduled.action as Decision;
  return { at: scheduled.dueAt, act: (context, row) => decideRow(context, row, decision) };
}

/** Does what the label of the name, or a fault, has scheduled. */
function act(context: EventContext, domain: Domain): void {
  const { action } = domain.scheduled!;
  if (action === "undo") undo(context, domain);
  else decide(context, domain, action);
}

/** Decides what is pending about a name: the create, a change that was set aside, or an answer to a transfer. */
export function decide(context: EventContext, domain: Domain, decision: Decision): void {
  const { domains } = context.store;
  const isApproved = decision !== "deny";
  const { answer } = domain.scheduled!;
  const { reID, acID } = domain.transfer ?? { reID: domain.clID, acID: domain.clID };
  const sender = answer === "clientCancelled" ? reID : answer ? acID : domain.clID;
  const left = answer ? { ...domain, scheduled: undefined } : settled(domain, isApproved);
  if (answer && left && isApproved) endTransfer(context, left, answer, sender);
  else if (left) domains.put(left);
  else removeName(context, domain.name);
  report(context, { name: domain.name, clID: sender }, domain.scheduled!, decision);
}

function undo(context: EventContext, domain: Domain): void {
  const { clTRID, svTRID } = domain.scheduled!;
  removeName(context, domain.name);
  recordEvent(context, domain, "undo", { clTRID, svTRID });
}

function leave(context: EventContext, domain: Domain): void {
  askForTransfer(context, { ...domain, leavesAt: undefined }, otherRegistrarId);
  recordEvent(context, domain, "transfer-request");
}

/** The losing registrar has not answered: RFC 5731 §3.2.4 leaves the outcome to the registry; most registries approve. */
function approveByItself(context: EventContext, domain: Domain): void {
  endTransfer(context, domain, "serverApproved");
  recordEvent(context, domain, "transfer-approve");
}

function autoRenew(context: EventContext, domain: Domain): void {
  const exDate = addMonths(new Date(domain.exDate), autoRenewMonths).toISOString();
  const graces = withGrace(context, domain, "autoRenewPeriod", autoRenewMonths);
  context.store.domains.put({ ...domain, exDate, graces });
  notify(context, domain, { text: `The name ${domain.name} was renewed automatically until ${exDate}` });
  recordEvent(context, domain, "auto-renew");
}

/** Like country-code registries without automatic renewal: the name leaves the zone, and its registrar can restore it. */
function expire(context: EventContext, domain: Domain): void {
  const isAsked = domain.transfer?.status === "pending";
  const isKept = startDeletion(context, isAsked ? endTransfer(context, domain, "serverCancelled") : domain);
  notify(context, domain, {
    text: `The name ${domain.name} ${isKept ? "expired and can be restored" : "expired and was deleted"}`,
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
    // What is pending ends with the name's term.
    ...withoutPending(domain),
    // pendingDelete excludes the statuses that prohibit a deletion (RFC 5731 §2.3).
    statuses: [
      ...withoutPending(domain).statuses.filter((status) => !status.endsWith("DeleteProhibited")),
      "pendingDelete",
    ],
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
  notify(context, domain, { text: `The restore of ${domain.name} lapsed: no report came in time` });
  recordEvent(context, domain, "restore-lapse");
}

function purge(context: EventContext, domain: Domain): void {
  const { clTRID, svTRID } = domain.deletion!;
  removeName(context, domain.name);
  // A pending delete that a command began ends with a message that names the command (RFC 5731 §3.3).
  notify(context, domain, {
    text: `The name ${domain.name} was deleted`,
    ...(svTRID && { approved: true, clTRID, svTRID }),
  });
  recordEvent(context, domain, "purge", { clTRID, svTRID });
}
