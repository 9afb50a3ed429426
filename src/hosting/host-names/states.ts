/** The state machine of an account's host name, as a table; an event that is not in it leaves the name unchanged. */

import { stateTable } from "#progress/state-table.ts";

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

export const { transitions: hostNameTransitions, next: nextHostNameStatus } = stateTable<HostNameStatus, HostNameEvent>(
  [
    ["H1", ["Waiting", "Proven"], "shown", "Proven"],
    ["H2", "Waiting", "missing", "Waiting"],
    ["H2", "Waiting", "unanswered", "Waiting"],
    // A record that was deleted by mistake, or name servers that are down, do not take a site offline.
    ["H3", "Proven", "missing", "Proven"],
    ["H3", "Proven", "unanswered", "Proven"],
    ["H4", "Proven", "lost", "Waiting"],
    ["H5", ["Waiting", "Proven"], "withdrawn", "Waiting"],
  ],
);
