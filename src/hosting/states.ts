/** The hosting account's state machine, as a table; what is not in it leaves the account unchanged. */

export const hostingStatuses = ["Provisioning", "Ready", "Suspended", "Failed"] as const;
export type HostingStatus = (typeof hostingStatuses)[number];

export const hostingEvents = ["placed", "doubtful", "probed", "abandoned", "refused", "suspended", "resumed"] as const;
export type HostingEvent = (typeof hostingEvents)[number];

export const hostingTransitions: readonly { from: HostingStatus; event: HostingEvent; to: HostingStatus }[] = [
  { from: "Provisioning", event: "placed", to: "Provisioning" },
  { from: "Provisioning", event: "doubtful", to: "Provisioning" },
  { from: "Provisioning", event: "probed", to: "Ready" },
  { from: "Provisioning", event: "abandoned", to: "Provisioning" },
  { from: "Provisioning", event: "refused", to: "Failed" },
  { from: "Ready", event: "suspended", to: "Suspended" },
  { from: "Suspended", event: "resumed", to: "Ready" },
];

/** Where an event leads; `undefined` when it leaves the account unchanged. */
export function nextHostingStatus(from: HostingStatus, event: HostingEvent): HostingStatus | undefined {
  return hostingTransitions.find((transition) => transition.from === from && transition.event === event)?.to;
}
