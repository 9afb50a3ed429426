import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { commandFrame } from "../command.ts";
import { eppNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";

/** The namespaces that a session asks for; a registry refuses what it didn't offer with 2307 or 2103. */
export interface EppServices {
  readonly objectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
}

export interface LoginRequest {
  readonly registrarId: string;
  /** 6 to 16 characters (RFC 5730 §4.1 pwType). */
  readonly password: Secret;
  readonly services: EppServices;
}

const epp = elementsOf(eppNamespace);

/** RFC 5730 §2.9.1.1. */
export function login({ registrarId, password, services }: LoginRequest): EppCommand<undefined> {
  const extensions = services.extensionURIs.map((uri) => epp("extURI", [uri]));
  const verb = epp("login", [
    epp("clID", [registrarId]),
    epp("pw", [password]),
    epp("options", [epp("version", ["1.0"]), epp("lang", ["en"])]),
    epp("svcs", [
      ...services.objectURIs.map((uri) => epp("objURI", [uri])),
      extensions.length > 0 ? epp("svcExtension", extensions) : undefined,
    ]),
  ]);
  return { name: "login", kind: "session", frame: (clTRID) => commandFrame(verb, clTRID), parse: () => undefined };
}
