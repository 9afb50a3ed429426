import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { commandFrame } from "#registry/epp/command.ts";
import type { LoginSecurityEvent } from "#registry/epp/commands/session/login-security.ts";
import { findLoginEvents, loginSecElement, plainPasswordOf } from "#registry/epp/commands/session/login-security.ts";
import { eppNamespace, loginSecNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

/** The services that a login asks for. A registry refuses those that it does not offer with 2307 or 2103. */
export interface EppServices {
  /** Namespaces. */
  readonly objectURIs: readonly string[];
  readonly extensionURIs: readonly string[];
  /** The language of the registry's messages for people. */
  readonly language: string;
}

export interface Credentials {
  readonly registrarId: string;
  /** 6 to 16 characters (RFC 5730 §4.1 pwType); more only where the registry offers loginSec. */
  readonly password: Secret;
  /** Replaces the password if the login succeeds. */
  readonly newPassword?: Secret | undefined;
}

const epp = elementsOf(eppNamespace);

/** RFC 5730 §2.9.1.1 and, if the session uses it, RFC 8807. Its data are the events that the registry reports. */
export function login(credentials: Credentials, services: EppServices): EppCommand<LoginSecurityEvent[]> {
  const { registrarId, password, newPassword } = credentials;
  const { objectURIs, extensionURIs, language } = services;
  const verb = epp("login", [
    epp("clID", [registrarId]),
    epp("pw", [plainPasswordOf(password)]),
    newPassword && epp("newPW", [plainPasswordOf(newPassword)]),
    epp("options", [epp("version", ["1.0"]), epp("lang", [language])]),
    epp("svcs", [
      ...objectURIs.map((uri) => epp("objURI", [uri])),
      extensionURIs.length > 0
        ? epp(
            "svcExtension",
            extensionURIs.map((uri) => epp("extURI", [uri])),
          )
        : undefined,
    ]),
  ]);
  const hasLoginSec = extensionURIs.includes(loginSecNamespace);
  return {
    name: "login",
    kind: "session",
    frame: (clTRID) => commandFrame(verb, clTRID, [hasLoginSec ? loginSecElement(password, newPassword) : undefined]),
    parse: (_resData, { extension }) => findLoginEvents(extension),
  };
}
