/** The registry that serves a name. */
import { getDomain } from "tldts";
import type { Context } from "#context.ts";
import { ApiError, invalidField } from "#errors.ts";
import { type DomainName, InvalidDomainName, labelUnderSuffix, parseDomainName, toUnicode } from "#lib/domain-name.ts";
import { refusalOfLabel } from "#registry/idn.ts";
import type { RegistryProfile } from "#registry/registries.ts";

type BySuffix = ReadonlyMap<string, RegistryProfile>;
const bySuffixOf = new WeakMap<readonly RegistryProfile[], BySuffix>();

/** The first registry that serves a suffix counts. */
function registriesBySuffix(registries: readonly RegistryProfile[]): BySuffix {
  let bySuffix = bySuffixOf.get(registries);
  if (!bySuffix) {
    const entries = registries.flatMap((registry) => registry.suffixes.map((suffix) => [suffix, registry] as const));
    bySuffix = new Map(entries.toReversed());
    bySuffixOf.set(registries, bySuffix);
  }
  return bySuffix;
}

export interface Target {
  registry: RegistryProfile;
  suffix: string;
  label: string;
}

/**
 * The registry that serves a name; `undefined` when none does.
 * @throws ApiError `bad_request` when the name is not one label under its suffix, served here or public, or has letters
 *   that its registry does not allow
 */
export function findTarget(context: Context, name: DomainName): Target | undefined {
  const bySuffix = registriesBySuffix(context.registries);
  const placement = labelUnderSuffix(name, bySuffix);
  if ("label" in placement) {
    const { suffix, label } = placement;
    const registry = bySuffix.get(suffix)!;
    const [unicodeLabel = label] = toUnicode(name).split(".");
    const refusal = refusalOfLabel(registry, suffix, unicodeLabel);
    if (refusal !== undefined) throw invalidField("domain_name", `The name ${refusal}.`);
    return { registry, suffix, label };
  }
  const isRegistrable = placement.refusal === "not_served" && getDomain(name, { allowPrivateDomains: true }) === name;
  if (isRegistrable) return undefined;
  throw invalidField("domain_name", "Only one label directly under a suffix can be registered, like example.com.");
}

/** The registry that serves a name, or why there is none. */
export function findServing(context: Context, text: string): Target | { refusal: string } {
  try {
    return findTarget(context, parseDomainName(text)) ?? { refusal: "no registry here serves its suffix" };
  } catch (error) {
    if (error instanceof ApiError || error instanceof InvalidDomainName) return { refusal: error.message };
    throw error;
  }
}
