/** A suffix on offer, as resellers see it. */
import Type, { type Static } from "typebox";
import type { RegistryProfile } from "#registry/registries.ts";
import { textLike } from "#use-case/docs.ts";

const count = (example: number, description: string) => Type.Integer({ minimum: 0, examples: [example], description });

export const suffixShape = Type.Object(
  {
    suffix: textLike("example"),
    years_min: Type.Integer({ examples: [1], description: "The shortest registration." }),
    years_max: Type.Integer({ examples: [10], description: "The longest registration." }),
    years_default: Type.Integer({ examples: [1], description: "A registration that names no years." }),
    renewal_years: Type.Integer({
      examples: [1],
      description: "The years by which a name renews at the end of its term.",
    }),
    renews_on_request: Type.Boolean({
      examples: [true],
      description: "Whether `POST …/renewals` can renew a name now.",
    }),
    restore_days: count(30, "For how many days a deleted name can be restored; 0: it cannot."),
    contacts: Type.Array(Type.Enum(["registrant", "admin", "tech", "billing"]), {
      examples: [["registrant", "admin", "tech"]],
      description: "The contacts that a name has. Your account's profile takes the place of those that you leave out.",
    }),
    name_servers_min: count(0, "How many name servers a registration needs at least."),
    name_servers_max: count(13, "How many it can have at most."),
    dnssec: Type.Enum(["ds", "keys", "none"], {
      examples: ["ds"],
      description: "The form in which the registry takes DNSSEC records.",
    }),
    idn: Type.Boolean({
      examples: [false],
      description: "Whether names can have letters besides a-z, digits and hyphens.",
    }),
    premium: Type.Boolean({
      examples: [false],
      description: "Whether names at premium prices can be registered.",
    }),
    locks_new_names: Type.Boolean({ examples: [true], description: "Whether a new name is locked against transfers." }),
  },
  { title: "Suffix" },
);

/** What a registry's profile says of names under a suffix. Nothing here tells who the registry or its registrar is. */
export function presentSuffix(suffix: string, registry: RegistryProfile): Static<typeof suffixShape> {
  return {
    suffix,
    years_min: 1,
    years_max: registry.yearsMax,
    years_default: registry.periodYears,
    renewal_years: registry.renewalYears,
    renews_on_request: registry.renew === "command",
    restore_days: registry.graceDays.redemption,
    contacts: registry.dataModel === "thick" ? ["registrant", ...registry.contactTypes] : [],
    name_servers_min: registry.nameserversAtCreate.min,
    name_servers_max: registry.nameserversAtCreate.max,
    dnssec: registry.secDns,
    idn: (registry.idn[suffix] ?? []).length > 0,
    premium: registry.premium !== undefined,
    locks_new_names: registry.lockNewNames,
  };
}
