/** Selects the steps of a test: the chosen steps that the registry and the operator support. */
import type { Secret } from "#lib/secret.ts";
import type { MemoryOptions } from "#ote/memory.ts";
import type { Needs, Step } from "#ote/step.ts";
import { steps } from "#ote/steps.ts";
import { feeNamespace, hostNamespace, rgpNamespace, secDnsNamespace } from "#registry/epp/namespaces.ts";
import { flavourOf } from "#registry/flavours/flavours.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export interface Choice {
  /** These steps, and those that they build on. */
  readonly only?: readonly string[] | undefined;
  readonly skip?: readonly string[] | undefined;
  /** This step and all later ones, and those that they build on. */
  readonly from?: string | undefined;
}

/** All input of a test. */
export interface WalkPlan extends MemoryOptions {
  readonly chosen: ReadonlySet<string>;
  /** Result codes that are correct here, instead of the table's: step → codes. */
  readonly expected: ReadonlyMap<string, readonly number[]>;
  readonly passwordChange?: PasswordChange | undefined;
  /** Keeps the test's objects at the end. */
  readonly keeps: boolean;
  readonly revealsSecrets: boolean;
}

export interface PasswordChange {
  readonly password: Secret;
  /** Called before the change is sent to the registry. */
  readonly begin: () => void;
  readonly end: () => void;
  /** Advice for a change that began and did not end. */
  readonly findAdvice: () => string | undefined;
}

/** @throws RangeError that names an unknown step */
export function chosenIds({ only, skip = [], from }: Choice): ReadonlySet<string> {
  for (const id of [...(only ?? []), ...skip, ...(from === undefined ? [] : [from])]) requireStep(id);
  const start = from === undefined ? 0 : steps.findIndex(({ id }) => id === from);
  const wanted = steps.slice(start).filter(({ id }) => !only || only.includes(id));
  const chosen = new Set(["login", "logout"]);
  for (const { id } of wanted) addWithBase(id, chosen);
  for (const id of skip) chosen.delete(id);
  return chosen;
}

function addWithBase(id: string, chosen: Set<string>): void {
  if (chosen.has(id)) return;
  chosen.add(id);
  for (const base of requireStep(id).buildsOn ?? []) addWithBase(base, chosen);
}

/** @throws RangeError */
export function requireStep(id: string): Step {
  const found = steps.find((step) => step.id === id);
  if (found) return found;
  throw new RangeError(`there is no step ${id}: deedhouse ote <registry> --list lists the steps`);
}

const extensionNames: Readonly<Record<string, string>> = {
  [feeNamespace]: "fee (RFC 8748)",
  [rgpNamespace]: "rgp (RFC 3915)",
  [secDnsNamespace]: "secDNS (RFC 5910)",
};

/**
 * Why a step does not apply to this registry, or not without more options; undefined when it applies.
 * @param extensionURIs the registry's extensions; undefined while they are not known
 */
export function whyNotHere(
  { needs = {} }: Step,
  { profile, secondProfile, otherName, passwordChange }: WalkPlan,
  extensionURIs: readonly string[] | undefined,
): string | undefined {
  const { extensionURI } = needs;
  const flavour = flavourOf(profile);
  const lacks: Readonly<Record<keyof Needs, false | string>> = {
    dataModel: profile.dataModel === "thin" && "the registry is thin: it has no contacts",
    hostModel:
      (profile.hostModel === "attributes" && "name servers are attributes of names here") ||
      (profile.withoutServices.includes(hostNamespace) && "the profile leaves hosts out (withoutServices)"),
    extensionURI: extensionURI !== undefined && whyWithout(extensionURI, profile, extensionURIs),
    contactTypes: profile.contactTypes.length === 0 && "names have no contacts besides the registrant here",
    ownContactOf: whyNoOwnContact(needs, profile),
    ownIds: profile.contactIds === "server" && "the registry chooses the ids of contacts",
    registrantChange: profile.registrantChange === "forbidden" && "an update cannot change the registrant here",
    command: flavour?.withoutCommands[needs.command ?? ""] ?? false,
    status:
      flavour?.clientStatuses?.includes(needs.status ?? "") === false && `a registrar cannot set ${needs.status} here`,
    renew: profile.renew === "none" && "the registry has no renew command",
    years: profile.period !== "years" && "commands give no period in years here",
    authInfo: whyNoAuthInfo(needs, profile),
    second: !secondProfile && "it needs a second account: --second-registrar",
    other: !secondProfile && !otherName && "it needs another registrar's name: --other-name or --second-registrar",
    passwordChange: !passwordChange && "only with --change-password",
  };
  const names = Object.keys(needs) as (keyof Needs)[];
  return names.map((name) => lacks[name]).find((reason) => reason !== false) || undefined;
}

function whyNoOwnContact({ ownContactOf: type = "any" }: Needs, profile: RegistryProfile): false | string {
  if (profile.contactTypes.length === 0) return "names have no contacts besides the registrant here";
  if (!profile.contactPerRole) return "one contact serves every role here";
  return type !== "any" && !profile.contactTypes.includes(type) && `names have no ${type} contact here`;
}

function whyNoAuthInfo({ authInfo }: Needs, profile: RegistryProfile): false | string {
  if (authInfo === "issued") {
    return !flavourOf(profile)?.issuesCodes && "the registry issues no authInfo to registrars";
  }
  return profile.authInfo !== "ours" && "the authInfo of names is not the registrar's to set here";
}

function whyWithout(
  uri: string,
  { withoutServices, secDns }: RegistryProfile,
  offered: readonly string[] | undefined,
): false | string {
  if (withoutServices.includes(uri)) return `the profile leaves ${extensionNames[uri]} out (withoutServices)`;
  if (uri === secDnsNamespace && secDns === "none") return "the profile says that the registry has no DNSSEC (secDns)";
  return offered?.includes(uri) === false && `the registry does not offer ${extensionNames[uri]}`;
}

/** A step's requirements, for the printed table: "contacts, fee (RFC 8748)". */
export function needsText({ needs = {} }: Pick<Step, "needs">): string {
  const texts: Readonly<Record<keyof Needs, string | undefined>> = {
    dataModel: "contacts",
    hostModel: "host objects",
    extensionURI: extensionNames[needs.extensionURI ?? ""],
    contactTypes: "contact types",
    ownContactOf:
      needs.ownContactOf === "any" ? "contacts with one role" : `contacts with one role, ${needs.ownContactOf}`,
    ownIds: "ids of our choice",
    registrantChange: "a registrant that can be changed",
    command: needs.command && `\`${needs.command}\``,
    status: needs.status && `\`${needs.status}\``,
    renew: "`domain:renew`",
    years: "periods in years",
    authInfo: needs.authInfo === "issued" ? "a registry that issues authInfo" : "authInfo of our choice",
    second: "`--second-registrar`",
    other: "`--other-name` or `--second-registrar`",
    passwordChange: "`--change-password`",
  };
  return (Object.keys(needs) as (keyof Needs)[]).map((name) => texts[name]).join(", ");
}
