import type { Family } from "./families.ts";
import type { ExtensionName } from "./namespaces.ts";

/** The settings of a sandbox registry, except its names and ports. */
export interface Settings {
  /** The registry that is played: it decides the defaults of other settings, and refuses what that registry refuses (families.ts). */
  family: Family;
  /** The largest frame that is accepted or sent, including its header. */
  frameBytesMax: number;
  /** A session that sends nothing for this long is dropped. */
  idleTimeoutMs: number;
  /** Wrong passwords on one connection before 2501 closes it. */
  loginFailuresMax: number;
  /** Concurrent sessions of one registrar; the next login is answered with 2502. */
  sessionsMax: number;
  /** How long a `pending-…` name waits for its decision. */
  pendingDelayMs: number;
  /** How long after its creation an `undo-after-` name vanishes. */
  undoDelayMs: number;
  /** Upper bound for `slow-<ms>-`. */
  slowMsMax: number;
  /** The delay of the answer to a `late-` create: longer than a client's transform timeout of 30 s. */
  lateMs: number;
  /** The frames that the journal keeps; the oldest are removed first. */
  journalFramesMax: number;
  /** Checks every answer against the schemas before it is sent, and crashes on an invalid one. */
  assertAnswers: boolean;
  /** Every login with loginSec (RFC 8807) is warned that its password expires in this many days; 0: never. */
  passwordExpiresDays: number;
  /** A registrar's initial credit; Infinity: no limit. */
  creditUnits: number;
  /** The price of a year of create or renew; more than the credit is 2104. */
  unitsPerYear: number;
  /**
   * A message notifies a registrar that its credit has fallen to this or below, and another one that it is above again; 0:
   * never.
   */
  lowBalanceUnits: number;
  /** What happens at a name's exDate: it is renewed for a year, or enters redemption. */
  atExpiry: "auto-renew" | "expire";
  graceDays: GraceDays;
  /** The only form of a period that creates and renews may have; others are 2306, and one that is missing too. */
  period: "any" | "years" | "months" | "none";
  /** Whether the answer to a create, and `<info>`, show the exDate: it is optional in both (RFC 5731 §3.2.1, §3.1.2). */
  createShowsExDate: boolean;
  infoShowsExDate: boolean;
  /** To whom info shows a name's registrar, which the schemas require. */
  infoShowsRegistrar: "all" | "sponsor" | "none";
  /** Whether a transfer's data are whole, or without the dates and the acID that the schemas require. */
  transferShows: "all" | "status";
  /** The answer to a renew whose curExpDate is not the exDate: registries differ. */
  oldExpDateCode: 2004 | 2105 | 2306;
  /** Which extensions the greeting announces. */
  extensions: readonly ExtensionName[];
  /** Thick: names have contacts. Thin: there are none. */
  dataModel: "thick" | "thin";
  /** Whose choice a contact's id is: the client's, or the registry's, which ignores the id in the command. */
  contactIds: "client" | "server";
  /** Name servers are objects (RFC 5732), or attributes of their domain (RFC 5731 §1.1). */
  hostModel: "objects" | "attributes";
  /** Whether a restore needs a report (RFC 3915 §3.1), and how many days the registry waits for it. */
  restoreReport: boolean;
  restoreReportDays: number;
  /** The price of a year in the fee extension (RFC 8748): of a `premium-` name, and of any other. */
  premiumAmount: number;
  standardAmount: number;
  restoreAmount: number;
  /** The class of a `premium-` name in a check's fees: registries exist that give none, or call every name standard. */
  premiumClass: "premium" | "standard" | "none";
  feeCurrency: string;
  /** Whether a command that costs something needs exactly its fee from a client with the fee extension (RFC 8748 §4). */
  feeDemanded: boolean;
  /** A contact has one role, at all names: it is never both a registrant and a technical contact. */
  contactPerRole: boolean;
  /**
   * Who draws a name's authInfo, if there is one. The registry sends the one that it draws to the registrant; with "registry-shown",
   * info also shows it to the name's registrar.
   */
  authInfo: "registrar" | "registry" | "registry-shown" | "none";
  /** Whether info shows the authInfo to the name's registrar, as RFC 5731 §3.1.2 does. */
  infoShowsAuthInfo: boolean;
  /** The name servers that a name needs at its create. */
  nameServersAtCreateMin: number;
  /** Whether there is a renew command; without it, names are renewed at their exDate only. */
  renewCommand: boolean;
  /** The product that every command names where `extensions` has namestoreExt. */
  subProduct: string;
  /** The token (RFC 8495) that allocates `token-` names; every other token is refused. */
  allocationToken: string;
  /** The launch phase (RFC 8334 §2.3): in "claims" a `claims-` name needs a claims notice, in "sunrise" every name a mark. */
  launchPhase: "open" | "claims" | "sunrise";
  /** Whether any check says that a `claims-` name needs a notice, or only the one that asks (RFC 8334 §3.1.1). */
  checkShowsClaims: boolean;
  /** How long the losing registrar may reject a transfer before it is approved. */
  transferDays: number;
}

/** Periods of a name's life in days (RFC 3915); 0 skips the period. */
export interface GraceDays {
  /** A name that is deleted within this time after its create is free at once. */
  add: number;
  renew: number;
  autoRenew: number;
  /** How long a deleted or expired name can be restored. */
  redemption: number;
  /** How long it then stays registered before it is free. */
  pendingDelete: number;
}

export const defaultSettings: Settings = {
  family: "none",
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
  lowBalanceUnits: 0,
  atExpiry: "auto-renew",
  graceDays: { add: 5, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 },
  period: "any",
  createShowsExDate: true,
  infoShowsExDate: true,
  infoShowsRegistrar: "all",
  transferShows: "all",
  oldExpDateCode: 2004,
  extensions: ["rgp", "secDNS", "fee", "loginSec", "changePoll", "allocationToken"],
  dataModel: "thick",
  contactIds: "client",
  hostModel: "objects",
  restoreReport: true,
  restoreReportDays: 7,
  premiumAmount: 100,
  standardAmount: 10,
  restoreAmount: 50,
  premiumClass: "premium",
  feeCurrency: "EUR",
  feeDemanded: false,
  contactPerRole: false,
  authInfo: "registrar",
  infoShowsAuthInfo: true,
  nameServersAtCreateMin: 0,
  renewCommand: true,
  subProduct: "SANDBOX",
  allocationToken: "sandbox-token",
  launchPhase: "open",
  checkShowsClaims: false,
  transferDays: 5,
};

/** The longest registration, from now (RFC 5731 leaves the policy to the registry; ten years is ICANN's). */
export const registrationYearsMax = 10;

/** The registrar that holds seeded names, `taken-` names and the winner's side of `race-` names. */
export const otherRegistrarId = "sandbox-other";

/** A name in the greeting's `<svID>`. */
export const serverId = "Deedhouse sandbox registry";
