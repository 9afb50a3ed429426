/**
 * The hosting account's state machine, as a table; what is not in it leaves the account unchanged. The status says what is
 * in force on the node; what an event of the second kind wishes is in the account's row, until its job has brought it about.
 */

export const hostingStatuses = ["Provisioning", "Ready", "Suspended", "Failed", "Removed"] as const;
export type HostingStatus = (typeof hostingStatuses)[number];

/** What an account's job has found out or brought about. */
export const hostingEvents = [
  ...(["placed", "doubtful", "probed", "abandoned", "refused"] as const),
  ...(["applied", "suspended", "resumed", "removed"] as const),
] as const;
export type HostingEvent = (typeof hostingEvents)[number];

/** What its owner or the operator wishes. */
export const hostingWishes = [
  ...(["password-wanted", "pack-wanted", "host-names-wanted", "move-wanted"] as const),
  ...(["suspend-wanted", "resume-wanted", "removal-wanted"] as const),
] as const;
export type HostingWish = (typeof hostingWishes)[number];

interface HostingTransition {
  from: HostingStatus;
  event: HostingEvent | HostingWish;
  to: HostingStatus;
}

const stays = (events: readonly HostingWish[], statuses: readonly HostingStatus[]): HostingTransition[] =>
  statuses.flatMap((status) => events.map((event) => ({ from: status, event, to: status })));

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
  ...stays(["password-wanted", "host-names-wanted"], ["Provisioning", "Ready", "Suspended"]),
  ...stays(["pack-wanted", "move-wanted", "suspend-wanted", "resume-wanted"], ["Ready", "Suspended"]),
  ...stays(["removal-wanted"], ["Provisioning", "Ready", "Suspended"]),
];

/** Where an event leads; `undefined` when it leaves the account unchanged. */
export function nextHostingStatus(from: HostingStatus, event: HostingEvent | HostingWish): HostingStatus | undefined {
  return hostingTransitions.find((transition) => transition.from === from && transition.event === event)?.to;
}

/** The statuses in which something can be wished. */
export function statusesFor(wish: HostingWish): HostingStatus[] {
  return hostingTransitions.filter(({ event }) => event === wish).map(({ from }) => from);
}
