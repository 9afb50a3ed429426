/**
 * Emulated registries: how their settings differ from the defaults. What each refuses is in `commands/family-rules.ts`, and
 * what it does with proprietary elements in the files next to it (`commands/eurid.ts`).
 */
import type { Settings } from "./settings.ts";

export const familyNames = ["none", "eurid", "dnsbe", "sidn"] as const;
export type Family = (typeof familyNames)[number];

/** At all of them a deleted name is in quarantine for 40 days. */
const quarantine = { add: 0, renew: 0, autoRenew: 0, redemption: 0, pendingDelete: 40 };

export const familySettings: Readonly<Record<Family, Partial<Settings>>> = {
  none: {},
  eurid: {
    extensions: ["secDNS", "contact-ext", "domain-ext", "authInfo"],
    contactIds: "server",
    contactPerRole: true,
    hostModel: "attributes",
    authInfo: "registry",
    period: "years",
    graceDays: quarantine,
  },
  dnsbe: {
    extensions: ["secDNS", "dnsbe"],
    contactIds: "server",
    contactPerRole: true,
    hostModel: "attributes",
    authInfo: "registry",
    renewCommand: false,
    graceDays: quarantine,
  },
  sidn: {
    extensions: ["secDNS", "rgp", "sidn"],
    contactIds: "server",
    authInfo: "registry-shown",
    renewCommand: false,
    period: "none",
    createShowsExDate: false,
    infoShowsExDate: false,
    graceDays: { ...quarantine, redemption: 40, pendingDelete: 0 },
  },
};
