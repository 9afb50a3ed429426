/**
 * What we sent as a secret may come back: in a `<value>` that echoes it, in a message, in a reason. Whoever writes down an
 * answer hides it there too, wherever it stands.
 */
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { isElement } from "#registry/epp/xml/xml.ts";

export const hiddenText = "[secret]";

/** The secrets that a frame of ours carries. */
export function secretsIn(element: XmlElement): string[] {
  const secrets: string[] = [];
  for (const child of element.children) {
    if (typeof child === "string") continue;
    if (isElement(child)) secrets.push(...secretsIn(child));
    else if (child.reveal() !== "") secrets.push(child.reveal());
  }
  return secrets;
}

/** The text with `[secret]` in place of each of the secrets. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((hidden, secret) => hidden.replaceAll(secret, hiddenText), text);
}
