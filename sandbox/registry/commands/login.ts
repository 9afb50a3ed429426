import { createHash, timingSafeEqual } from "node:crypto";
import { objectNames } from "../namespaces.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, childToken, findChild, tokenOf } from "../xml.ts";

/** RFC 5730 §2.9.1.1. Everything else is checked before the password, so a refused option is no failed attempt. */
export const login: CommandHandler = ({ registry, session, element }) => {
  const registrar = childToken(element, "clID");
  const language = childToken(findChild(element, "options")!, "lang");
  if (language !== "en") throw new Refusal(2102, `language ${language}`);
  const services = findChild(element, "svcs")!;
  const objectUris = childrenOf(services, "objURI").map(tokenOf);
  const unknownUri = objectUris.find((uri) => !objectNames[uri]);
  if (unknownUri !== undefined) throw new Refusal(2307, unknownUri);
  if (findChild(services, "svcExtension")) throw new Refusal(2103);

  if (!isPassword(registry, registrar, childToken(element, "pw"))) {
    session.loginFailures += 1;
    throw new Refusal(session.loginFailures >= registry.settings.loginFailuresMax ? 2501 : 2200);
  }
  const sessions = [...registry.sessions].filter((other) => other.registrar === registrar).length;
  if (sessions >= registry.settings.sessionsMax) throw new Refusal(2502, `${sessions} sessions are open`);

  const newPassword = findChild(element, "newPW");
  if (newPassword) registry.store.passwords.put({ registrar, password: tokenOf(newPassword) });
  session.registrar = registrar;
  session.services = new Set(objectUris);
  return { code: 1000 };
};

function isPassword(registry: Registry, registrar: string, password: string): boolean {
  const expected = registry.store.passwords.find(registrar)?.password ?? registry.registrars.get(registrar);
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return (
    expected !== undefined && registry.registrars.has(registrar) && timingSafeEqual(digest(password), digest(expected))
  );
}
