/**
 * The hosting account's state machine, as a table; an event that is not in it leaves the account unchanged. The status says
 * what is in effect on the node. A requested change is stored in the account's row, and changes no status.
 */

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

/** What owner, operator or a machine of ours can request of an account. */
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

interface HostingTransition {
  from: HostingStatus;
  event: HostingEvent | RequestedChange;
  to: HostingStatus;
}

const requests = (changes: readonly RequestedChange[], statuses: readonly HostingStatus[]): HostingTransition[] =>
  statuses.flatMap((status) => changes.map((event) => ({ from: status, event, to: status })));

export const hostingTransitions: readonly HostingTransition[] = [
  { from: "Provisioning", event: "placed", to: "Provisioning" },
  { from: "Provisioning", event: "doubtful", to: "Provisioning" },
  { from: "Provisioning", event: "probed", to: "Ready" },
  { from: "Provisioning", event: "abandoned", to: "Provisioning" },
  { from: "Provisioning", event: "refused", to: "Failed" },
  { from: "Provisioning", event: "removed", to: "Removed" },
  { from: "Ready", event: "doubtful", to: "Ready" },
  { from: "Ready", event: "applied", to: "Ready" },
  { from: "Ready", event: "suspended", to: "Suspended" },
  { from: "Ready", event: "removed", to: "Removed" },
  { from: "Suspended", event: "doubtful", to: "Suspended" },
  { from: "Suspended", event: "applied", to: "Suspended" },
  { from: "Suspended", event: "resumed", to: "Ready" },
  { from: "Suspended", event: "removed", to: "Removed" },
  { from: "Failed", event: "removed", to: "Removed" },
  ...requests(["password-wanted", "ftp-wanted", "host-names-wanted"], ["Provisioning", "Ready", "Suspended"]),
  ...requests(["pack-wanted", "move-wanted", "suspend-wanted", "resume-wanted"], ["Ready", "Suspended"]),
  ...requests(["reseller-suspend-wanted", "reseller-resume-wanted"], ["Ready", "Suspended"]),
  ...requests(["removal-wanted"], ["Provisioning", "Ready", "Suspended"]),
];

/** Where an event leads; `undefined` when it leaves the account unchanged. */
export function nextHostingStatus(
  from: HostingStatus,
  event: HostingEvent | RequestedChange,
): HostingStatus | undefined {
  return hostingTransitions.find((transition) => transition.from === from && transition.event === event)?.to;
}

/** The statuses in which a change can be requested. */
export function statusesFor(change: RequestedChange): HostingStatus[] {
  return hostingTransitions.filter(({ event }) => event === change).map(({ from }) => from);
}
