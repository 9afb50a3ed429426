/** The state machine of an account's host name, as a table; an event that is not in it leaves the name unchanged. */

export const hostNameStatuses = ["Waiting", "Proven"] as const;
export type HostNameStatus = (typeof hostNameStatuses)[number];

/** What a check of a host name finds. */
export const hostNameEvents = [
  /** The record is there, the name is in the portfolio of the account's owner, or it is the account's bare identifier. */
  "shown",
  /** There is no such record. */
  "missing",
  /** No name server answers. */
  "unanswered",
  /** It has been missing for too long, or another account has proven the name. */
  "lost",
  /** It is in another's portfolio. */
  "withdrawn",
] as const;
export type HostNameEvent = (typeof hostNameEvents)[number];

export const hostNameTransitions: readonly { from: HostNameStatus; event: HostNameEvent; to: HostNameStatus }[] = [
  { from: "Waiting", event: "shown", to: "Proven" },
  { from: "Waiting", event: "missing", to: "Waiting" },
  { from: "Waiting", event: "unanswered", to: "Waiting" },
  { from: "Waiting", event: "withdrawn", to: "Waiting" },
  { from: "Proven", event: "shown", to: "Proven" },
  // A record that was deleted by mistake, or name servers that are down, do not take a site offline.
  { from: "Proven", event: "missing", to: "Proven" },
  { from: "Proven", event: "unanswered", to: "Proven" },
  { from: "Proven", event: "lost", to: "Waiting" },
  { from: "Proven", event: "withdrawn", to: "Waiting" },
];

/** Where an event leads; `undefined` when it leaves the name unchanged. */
export function nextHostNameStatus(from: HostNameStatus, event: HostNameEvent): HostNameStatus | undefined {
  return hostNameTransitions.find((transition) => transition.from === from && transition.event === event)?.to;
}
