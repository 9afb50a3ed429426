import type { EppServices } from "#registry/epp/commands/session/login.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { Greeting } from "#registry/epp/greeting.ts";

/** The services that we ask a registry for. */
export interface ServiceRequirements {
  /** Namespaces of objects without which a session is useless. */
  readonly requiredObjectURIs: readonly string[];
  /** Namespaces of objects and extensions that we use where the registry offers them. */
  readonly optionalObjectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
  /** Extensions without which a session is useless: of each list, the first that the registry offers. Default: none. */
  readonly newestOf?: readonly (readonly string[])[] | undefined;
}

/**
 * What to ask for at login: exactly what we require and the registry offers. Registries refuse what they do not offer (2307,
 * 2103), and some use an extension only for clients that asked for it.
 * @throws EppUnavailable that names what is missing
 */
export function chooseServices(ours: ServiceRequirements, offered: Greeting): EppServices {
  const isOffered = (uri: string) => offered.objectURIs.includes(uri);
  const missing = ours.requiredObjectURIs.filter((uri) => !isOffered(uri));
  if (missing.length > 0) throw notOffered(`the registry does not offer ${missing.join(", ")}`);
  if (!offered.versions.includes("1.0")) throw notOffered("the registry does not speak EPP 1.0");
  const newest = (ours.newestOf ?? []).map((versions) => {
    const found = versions.find((uri) => offered.extensionURIs.includes(uri));
    if (found === undefined) throw notOffered(`the registry does not offer ${versions.join(" or ")}`);
    return found;
  });
  return {
    objectURIs: [...ours.requiredObjectURIs, ...ours.optionalObjectURIs.filter(isOffered)],
    extensionURIs: [...newest, ...ours.extensionURIs.filter((uri) => offered.extensionURIs.includes(uri))],
    language: offered.languages.includes("en") ? "en" : (offered.languages[0] ?? "en"),
  };
}

/** The extensions of a session with a registry that offers everything: of each list, the newest version. */
export function extensionsAtBest({ newestOf = [], extensionURIs }: ServiceRequirements): string[] {
  return [...newestOf.flatMap(([newest]) => newest ?? []), ...extensionURIs];
}

/** The registry does not offer something that we require. */
export function notOffered(detail: string): EppUnavailable {
  return new EppUnavailable("not-offered", { detail });
}
