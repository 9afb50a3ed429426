import type { ExtensionName } from "./namespaces.ts";

/** What a sandbox registry can be told beside its names and ports. Times are in milliseconds. */
export interface Settings {
  /** Largest frame taken or sent, header included. */
  frameBytesMax: number;
  /** A session without a byte for so long is dropped. */
  idleTimeoutMs: number;
  /** Wrong passwords on one connection before 2501 closes it. */
  loginFailuresMax: number;
  /** Sessions of one registrar at the same time; the next login answers 2502. */
  sessionsMax: number;
  /** How long a `pending-…` name waits for its decision. */
  pendingDelayMs: number;
  /** How long after its creation an `undo-after-` name vanishes. */
  undoDelayMs: number;
  /** Upper bound for `slow-<ms>-`. */
  slowMsMax: number;
  /** How long a `late-` create keeps its answer back: longer than a client's transform timeout of 30 s. */
  lateMs: number;
  /** Frames the journal keeps in memory; the oldest are forgotten first. */
  journalFramesMax: number;
  /** Checks every answer against the schemas before it is sent, and crashes on an invalid one. */
  assertAnswers: boolean;
  /** Every login by loginSec (RFC 8807) hears that its password ends in so many days; 0: passwords never end. */
  passwordExpiresDays: number;
  /** What a registrar has to pay with before its credit is set; Infinity: no limit, nothing is counted. */
  creditUnits: number;
  /** The price of a year of create or renew; more than the credit is 2104. */
  unitsPerYear: number;
  /** What becomes of a name that reaches its exDate: a year more, or redemption without anyone asking for it. */
  atExpiry: "auto-renew" | "expire";
  graceDays: GraceDays;
  /** The answer to a renew whose curExpDate is not the exDate: registries differ. */
  oldExpDateCode: 2004 | 2105 | 2306;
  /** Which extensions the greeting announces. */
  extensions: readonly ExtensionName[];
  /** Thick: names have contacts. Thin: there are none. */
  dataModel: "thick" | "thin";
  /** Name servers are objects of their own (RFC 5732), or attributes of their domain (RFC 5731 §1.1). */
  hostModel: "objects" | "attributes";
  /** Whether a restore needs a report before the name is back (RFC 3915 §3.1), and how long that is waited for. */
  restoreReport: boolean;
  restoreReportDays: number;
  /** What a year of a `premium-` name costs in the fee extension (RFC 8748), and of any other. */
  premiumAmount: number;
  standardAmount: number;
  restoreAmount: number;
  feeCurrency: string;
  /** How long the losing registrar may object to a transfer: then it is approved. */
  transferDays: number;
}

/** Times of a name's life in days (RFC 3915); 0 leaves that part of its life out. */
export interface GraceDays {
  /** A name deleted so soon after its create is free at once. */
  add: number;
  renew: number;
  autoRenew: number;
  /** How long a deleted or expired name can be restored. */
  redemption: number;
  /** How long it is held back after that, before it is free. */
  pendingDelete: number;
}

export const defaultSettings: Settings = {
  frameBytesMax: 4 * 1024 * 1024,
  idleTimeoutMs: 10 * 60_000,
  loginFailuresMax: 3,
  sessionsMax: 20,
  pendingDelayMs: 2_000,
  undoDelayMs: 2_000,
  slowMsMax: 60_000,
  lateMs: 35_000,
  journalFramesMax: 50_000,
  assertAnswers: true,
  passwordExpiresDays: 0,
  creditUnits: Number.POSITIVE_INFINITY,
  unitsPerYear: 1,
  atExpiry: "auto-renew",
  graceDays: { add: 5, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 },
  oldExpDateCode: 2004,
  extensions: ["rgp", "secDNS", "fee", "loginSec"],
  dataModel: "thick",
  hostModel: "objects",
  restoreReport: true,
  restoreReportDays: 7,
  premiumAmount: 100,
  standardAmount: 10,
  restoreAmount: 50,
  feeCurrency: "EUR",
  transferDays: 5,
};

/** Longest registration, counted from now (RFC 5731 leaves the policy to the registry; ten years is ICANN's). */
export const registrationYearsMax = 10;

/** The registrar that holds seeded names, `taken-` names and the winner's side of `race-` names. */
export const otherRegistrarId = "sandbox-other";

/** A name in the greeting's `<svID>`. */
export const serverId = "Deedhouse sandbox registry";
