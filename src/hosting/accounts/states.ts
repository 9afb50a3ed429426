/**
 * The hosting account's state machine, as a table; an event that is not in it leaves the account unchanged. The status says
 * what is in effect on the node. A requested change is stored in the account's row, and changes no status.
 */

import { stateTable, type TransitionRow } from "#progress/state-table.ts";

export const hostingStatuses = ["Provisioning", "Ready", "Suspended", "Failed", "Removed"] as const;
export type HostingStatus = (typeof hostingStatuses)[number];

/** The outcomes of an account's steps. */
export const hostingEvents = [
  "placed",
  "doubtful",
  "probed",
  "abandoned",
  "refused",
  "applied",
  "suspended",
  "resumed",
  "removed",
] as const;
export type HostingEvent = (typeof hostingEvents)[number];

/** What its owner, an operator or one of our state machines can request of an account. */
export const requestedChanges = [
  "password-wanted",
  "ftp-wanted",
  "pack-wanted",
  "host-names-wanted",
  "move-wanted",
  "suspend-wanted",
  "resume-wanted",
  "reseller-suspend-wanted",
  "reseller-resume-wanted",
  "removal-wanted",
] as const;
export type RequestedChange = (typeof requestedChanges)[number];

type Row<Event extends string> = TransitionRow<HostingStatus, Event>;

/** A row for each of the statuses, which the event leaves as it is. */
const staying = <Event extends string>(row: string, statuses: readonly HostingStatus[], event: Event): Row<Event>[] =>
  statuses.map((status) => [row, status, event, status]);

const live: readonly HostingStatus[] = ["Provisioning", "Ready", "Suspended"];
const onItsNode: readonly HostingStatus[] = ["Ready", "Suspended"];

const steps: readonly Row<HostingEvent>[] = [
  ["A1", "Provisioning", "placed", "Provisioning"],
  ...staying("A2", live, "doubtful"),
  ["A3", "Provisioning", "probed", "Ready"],
  ["A4", "Provisioning", "abandoned", "Provisioning"],
  ["A5", "Provisioning", "refused", "Failed"],
  ...staying("A6", onItsNode, "applied"),
  ["A7", "Ready", "suspended", "Suspended"],
  ["A8", "Suspended", "resumed", "Ready"],
  ["A9", [...live, "Failed"], "removed", "Removed"],
];

const requests: readonly Row<RequestedChange>[] = [
  ...staying("A10", live, "password-wanted"),
  ...staying("A10", live, "ftp-wanted"),
  ...staying("A10", live, "host-names-wanted"),
  ...staying("A11", onItsNode, "pack-wanted"),
  ...staying("A11", onItsNode, "move-wanted"),
  ...staying("A12", onItsNode, "suspend-wanted"),
  ...staying("A12", onItsNode, "resume-wanted"),
  ...staying("A12", onItsNode, "reseller-suspend-wanted"),
  ...staying("A12", onItsNode, "reseller-resume-wanted"),
  ...staying("A13", live, "removal-wanted"),
];

export const { transitions: hostingTransitions, next: nextHostingStatus } = stateTable([...steps, ...requests]);

/** The statuses in which a change can be requested. */
export function statusesFor(change: RequestedChange): HostingStatus[] {
  return hostingTransitions.filter(({ event }) => event === change).map(({ from }) => from);
}
