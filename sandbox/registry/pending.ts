import { type EventContext, type EventSubject, notify, recordEvent } from "./events.ts";
import type { Contact, Decision, Host, ScheduledAction } from "./objects.ts";

/** What is pending about an object: its command answered 1001, and changes nothing before the decision (RFC 5731 §3.3). */

/** An object that can have a pending command. */
export interface Pendable<Row> {
  clID: string;
  statuses: string[];
  scheduled?: ScheduledAction<Row> | undefined;
}

/** The object without what is pending about it. A name's own pendingDelete has no decision. */
export function withoutPending<Row extends Pendable<Row>>(row: Row): Row {
  const ended = [
    "pendingCreate",
    "pendingRenew",
    "pendingUpdate",
    ...(row.scheduled?.removes ? ["pendingDelete"] : []),
  ];
  return { ...row, statuses: row.statuses.filter((status) => !ended.includes(status)), scheduled: undefined };
}

/** The object after the decision; undefined if it is gone. */
export function settled<Row extends Pendable<Row>>(row: Row, isApproved: boolean): Row | undefined {
  const { change, removes } = row.scheduled!;
  if (isApproved ? removes : !removes && !change) return undefined;
  const left = withoutPending(row);
  if (!isApproved || !change) return left;
  return { ...left, ...change.set, ...Object.fromEntries(change.unset.map((field) => [field, undefined])) };
}

/** What a command changes in a row. */
export function changeOf<Row extends object>(before: Row, after: Row): NonNullable<ScheduledAction<Row>["change"]> {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof Row)[];
  const changed = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  const isSet = (field: keyof Row) => after[field] !== undefined;
  const set = Object.fromEntries(changed.filter(isSet).map((field) => [field, after[field]])) as Partial<Row>;
  return { set, unset: changed.filter((field) => !isSet(field)) };
}

/** Decides the pending command of a host. */
export function decideHost(context: EventContext, host: Host, decision: Decision): void {
  const { hosts } = context.store;
  const left = settled(host, decision !== "deny");
  if (left) hosts.put(left);
  else hosts.delete(host.name);
  report(context, { object: "host", name: host.name, clID: host.clID }, host.scheduled!, decision);
}

/** Decides the pending command of a contact. */
export function decideContact(context: EventContext, contact: Contact, decision: Decision): void {
  const { contacts } = context.store;
  const left = settled(contact, decision !== "deny");
  if (left) contacts.put(left);
  else contacts.delete(contact.id);
  report(context, { object: "contact", name: contact.id, clID: contact.clID }, contact.scheduled!, decision);
}

/** Notifies the registrar whose command was pending, unless the message is lost, and records the decision. */
export function report(
  context: EventContext,
  subject: EventSubject,
  {
    change,
    answer,
    removes,
    clTRID,
    svTRID,
  }: Pick<ScheduledAction, "answer" | "removes" | "clTRID" | "svTRID"> & { change?: unknown },
  decision: Decision,
): void {
  const approved = decision !== "deny";
  if (decision !== "lose") {
    const what = change || answer || removes ? "command" : "create";
    const text = `The pending ${what} was ${approved ? "approved" : "denied"}`;
    notify(context, subject, { text, approved, clTRID, svTRID });
  }
  recordEvent(context, subject, decision, { clTRID, svTRID });
}
