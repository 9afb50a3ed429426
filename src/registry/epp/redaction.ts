/**
 * A registry may echo a secret that we sent: in a `<value>`, in a message or in a reason. Before an answer is recorded, each of
 * the secrets is redacted wherever it appears.
 */
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { isElement, VerbatimXml } from "#registry/epp/xml/xml.ts";

export const hiddenText = "[secret]";

/** The secrets in a frame of ours. */
export function secretsIn(element: XmlElement): string[] {
  const secrets: string[] = [];
  for (const child of element.children) {
    if (typeof child === "string" || child instanceof VerbatimXml) continue;
    if (isElement(child)) secrets.push(...secretsIn(child));
    else if (child.reveal() !== "") secrets.push(child.reveal());
  }
  return secrets;
}

/** Replaces each of the secrets in the text with `[secret]`. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((hidden, secret) => hidden.replaceAll(secret, hiddenText), text);
}

/** What people write before a code or a password, and the code. */
const toldCode =
  /((?:auth(?:[ -]?info|orisation|orization)?|epp|transfer|security)[ -]?(?:code|key|password)?|password|pw)(\s*(?:is\b|[:=])\s*)("[^"]*"|'[^']*'|\S+)/giu;
const eMailAddress = /[^\s<>"'(),;:@]{1,64}@[^\s<>"'(),;:@]{1,255}/gu;
const phoneNumber = /\+\d[\d .()/-]{5,20}\d/gu;

/**
 * A registry's text without whatever resembles a code, a password, an e-mail address or a phone number. Free text allows no
 * more than this; structured data is redacted by its elements.
 */
export function redactText(text: string): string {
  return text.replace(toldCode, `$1$2${hiddenText}`).replace(eMailAddress, hiddenText).replace(phoneNumber, hiddenText);
}
