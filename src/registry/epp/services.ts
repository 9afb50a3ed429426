import type { EppServices } from "#registry/epp/commands/session/login.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { Greeting } from "#registry/epp/greeting.ts";

/** What we would like of a registry. */
export interface ServiceRequirements {
  /** Objects, as namespaces, without which a session is of no use. */
  readonly requiredObjectURIs: readonly string[];
  /** Objects and extensions that are used where they are offered. */
  readonly optionalObjectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
}

/**
 * What to ask for at login: exactly what is wanted and offered. Registries refuse what they have not offered (2307, 2103),
 * and some use an extension towards those who asked for it only.
 * @throws EppUnavailable that names what is missing
 */
export function chooseServices(ours: ServiceRequirements, offered: Greeting): EppServices {
  const isOffered = (uri: string) => offered.objectURIs.includes(uri);
  const missing = ours.requiredObjectURIs.filter((uri) => !isOffered(uri));
  if (missing.length > 0) throw notOffered(`the registry does not offer ${missing.join(", ")}`);
  if (!offered.versions.includes("1.0")) throw notOffered("the registry does not speak EPP 1.0");
  return {
    objectURIs: [...ours.requiredObjectURIs, ...ours.optionalObjectURIs.filter(isOffered)],
    extensionURIs: ours.extensionURIs.filter((uri) => offered.extensionURIs.includes(uri)),
    language: offered.languages.includes("en") ? "en" : (offered.languages[0] ?? "en"),
  };
}

/** The registry lacks something that we can't do without. */
export function notOffered(detail: string): EppUnavailable {
  return new EppUnavailable("not-offered", { detail });
}
