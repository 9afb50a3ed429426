import { createHash, timingSafeEqual } from "node:crypto";
import { addDays } from "../clock.ts";
import { loginSecUri } from "../namespaces.ts";
import type { CommandContext, CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { extensionUrisOf, objectUrisOf } from "../services.ts";
import { childrenOf, childToken, findChild, type Markup, tag, tokenOf, type XmlElement } from "../xml.ts";

/** The value of `<pw>` and `<newPW>` when the password is in the extension (RFC 8807 §4.1). */
const inExtension = "[LOGIN-SECURITY]";

/** RFC 5730 §2.9.1.1. Everything else is checked before the password, so a refused option does not count as a failed login. */
export const login: CommandHandler = (context) => {
  const { registry, session, element } = context;
  const registrar = childToken(element, "clID");
  const language = childToken(findChild(element, "options")!, "lang");
  if (language !== "en") throw new Refusal(2102, `language ${language}`);
  const services = servicesOf(registry, element);
  const { password, newPassword } = passwordsOf(context, services);

  if (!isPassword(registry, registrar, password)) {
    session.loginFailures += 1;
    throw new Refusal(session.loginFailures >= registry.settings.loginFailuresMax ? 2501 : 2200);
  }
  const sessions = [...registry.sessions].filter((other) => other.registrar === registrar).length;
  if (sessions >= (registry.faults.current.sessionsMax ?? registry.settings.sessionsMax))
    throw new Refusal(2502, `${sessions} sessions are open`);

  if (newPassword !== undefined) registry.store.passwords.put({ registrar, password: newPassword });
  session.registrar = registrar;
  session.loggedInAt = registry.now();
  session.commandsSinceLogin = 0;
  session.services = services;
  return { code: 1000, extension: services.has(loginSecUri) ? securityEvents(registry) : undefined };
};

/** The objects and extensions that the login requests; refuses unsupported ones with 2307 or 2103. */
function servicesOf({ settings }: Registry, element: XmlElement): ReadonlySet<string> {
  const services = findChild(element, "svcs")!;
  const objects = childrenOf(services, "objURI").map(tokenOf);
  const unknownObject = objects.find((uri) => !objectUrisOf(settings).includes(uri));
  if (unknownObject !== undefined) throw new Refusal(2307, unknownObject);
  const svcExtension = findChild(services, "svcExtension");
  const extensions = svcExtension ? childrenOf(svcExtension, "extURI").map(tokenOf) : [];
  const unknownExtension = extensions.find((uri) => !extensionUrisOf(settings).includes(uri));
  if (unknownExtension !== undefined) throw new Refusal(2103, unknownExtension);
  return new Set([...objects, ...extensions]);
}

/** The passwords of the login, or of its loginSec extension if the login refers to it. */
function passwordsOf(
  { element, extensions }: CommandContext,
  services: ReadonlySet<string>,
): { password: string; newPassword: string | undefined } {
  const strange = extensions.find(({ uri }) => uri !== loginSecUri);
  if (strange) throw new Refusal(2103, strange.uri);
  const [security] = extensions;
  if (security && !services.has(loginSecUri)) throw new Refusal(2002, `the login does not request ${loginSecUri}`);
  const chosen = (local: "pw" | "newPW"): string | undefined => {
    const plain = findChild(element, local);
    const extended = security && findChild(security, local);
    const isExtended = plain !== undefined && tokenOf(plain) === inExtension;
    if (isExtended && !extended) throw new Refusal(2003, `<${local}> is ${inExtension}, and the extension has none`);
    if (extended && !isExtended)
      throw new Refusal(2306, `the extension has <${local}>, so the other is ${inExtension}`);
    const holder = isExtended ? extended : plain;
    return holder && tokenOf(holder);
  };
  return { password: chosen("pw") ?? "", newPassword: chosen("newPW") };
}

function isPassword(registry: Registry, registrar: string, password: string): boolean {
  const expected = registry.store.passwords.find(registrar)?.password ?? registry.registrars.get(registrar);
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return (
    expected !== undefined && registry.registrars.has(registrar) && timingSafeEqual(digest(password), digest(expected))
  );
}

/** The warning about the password for a client that requested loginSec (RFC 8807 §4.1). */
function securityEvents({ settings, now }: Registry): Markup[] | undefined {
  const days = settings.passwordExpiresDays;
  if (days === 0) return undefined;
  const exDate = addDays(now(), days).toISOString();
  const event = tag(
    "loginSec:event",
    { type: "password", level: "warning", exDate },
    `The password expires in ${days} days`,
  );
  return [tag("loginSec:loginSecData", { "xmlns:loginSec": loginSecUri }, event)];
}
