/**
 * What we sent as a secret may come back: in a `<value>` that echoes it, in a message, in a reason. Whoever writes down an
 * answer hides it there too, wherever it stands.
 */
import type { XmlElement } from "./xml.ts";
import { isElement } from "./xml.ts";

export const hiddenText = "[secret]";

/** The secrets that a frame of ours carries. */
export function secretsIn(element: XmlElement): string[] {
  return element.children.flatMap((child) => {
    if (typeof child === "string") return [];
    return isElement(child) ? secretsIn(child) : [child.reveal()].filter((secret) => secret !== "");
  });
}

/** The text with `[secret]` in place of each of the secrets. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.reduce((hidden, secret) => hidden.replaceAll(secret, hiddenText), text);
}
