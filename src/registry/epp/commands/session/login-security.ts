/** Login security (RFC 8807): passwords longer than EPP's 16 characters, the user agent, and events such as a near expiry. */
import type { Secret } from "#lib/secret.ts";
import { loginSecNamespace } from "#registry/epp/namespaces.ts";
import { parseXmlDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findAttribute,
  findChild,
  findChildren,
  optionalOf,
  textOf,
  tolerate,
} from "#registry/epp/xml/xml.ts";

/** RFC 5730 §4.1, pwType. */
export const passwordCharsMin = 6;
const plainPasswordCharsMax = 16;
/** RFC 8807 leaves the limit to the registries; none requires more. */
export const passwordCharsMax = 128;

/** RFC 8807 §4.1: the login's placeholder when the extension contains the password. */
const predefinedPassword = "[LOGIN-SECURITY]";

/** An event that the registry reports about our login (RFC 8807 §3.1): a password or certificate that expires, a weak cipher. */
export interface LoginSecurityEvent {
  /** "password", "certificate", "cipher", "tlsProtocol", "newPW", "stat" or "custom". */
  readonly type: string;
  readonly name: string | undefined;
  readonly level: "warning" | "error";
  readonly exDate: Date | undefined;
  /** The cipher, protocol or number. Never a credential. */
  readonly value: string | undefined;
  /** An XML Schema duration, e.g. "P1D". */
  readonly duration: string | undefined;
  /** For people. */
  readonly text: string;
}

const loginSec = elementsOf(loginSecNamespace);
const optional = optionalOf(loginSec);

const userAgent = loginSec("userAgent", [
  loginSec("app", ["Deedhouse"]),
  loginSec("tech", [`Node.js ${process.version}`]),
  loginSec("os", [`${process.arch} ${process.platform}`]),
]);

/** Whether a password fits into the login itself. */
export function isPlainPassword(password: Secret): boolean {
  return password.reveal().length <= plainPasswordCharsMax;
}

/** The content of the login's `<pw>` or `<newPW>`. */
export function plainPasswordOf(password: Secret): Secret | string {
  return isPlainPassword(password) ? password : predefinedPassword;
}

/** RFC 8807 §4.1. */
export function loginSecElement(password: Secret, newPassword: Secret | undefined): XmlElement {
  const long = (secret: Secret | undefined) => (secret && !isPlainPassword(secret) ? secret : undefined);
  return loginSec("loginSec", [userAgent, optional("pw", long(password)), optional("newPW", long(newPassword))]);
}

/** RFC 8807 §4.1: the events of the answer. Never throws: an unreadable event must not make a login fail. */
export function findLoginEvents(extension: XmlElement | undefined): LoginSecurityEvent[] {
  const data = findChild(extension, loginSecNamespace, "loginSecData");
  if (!data) return [];
  return findChildren(data, loginSecNamespace, "event").map((event) => {
    const find = (name: string) => findAttribute(event, name);
    const type = find("type") ?? "";
    const exDate = find("exDate");
    const isCredential = type === "password" || type === "newPW";
    return {
      type,
      name: find("name"),
      level: find("level") === "error" ? "error" : "warning",
      exDate: exDate === undefined ? undefined : tolerate(() => parseXmlDate(exDate)),
      value: isCredential ? undefined : find("value"),
      duration: find("duration"),
      text: textOf(event),
    };
  });
}
