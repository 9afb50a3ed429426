/** An extension as single registries have them for contacts: the tax number of a person or company. */
import { taxNumberUri } from "../namespaces.ts";
import type { SessionState } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import type { Settings } from "../settings.ts";
import { findChild, type Markup, tag, tokenOf, type XmlElement } from "../xml.ts";

/** The tax number of a new contact: 2003 without one where the registry demands it, 2005 for another form. */
export function taxNumberOf(
  { extensions: announced }: Settings,
  extensions: readonly XmlElement[],
): string | undefined {
  if (!announced.includes("taxNumber")) return undefined;
  const extension = extensions.find(({ uri }) => uri === taxNumberUri);
  const number = extension && findChild(extension, "taxNumber");
  if (!number) throw new Refusal(2003, "a contact needs a tax number");
  if (!/^[A-Z]{2}[0-9]{6,12}$/.test(tokenOf(number))) throw new Refusal(2005, "this is not a tax number");
  return tokenOf(number);
}

/** It is shown to clients that requested the extension. */
export function taxNumberTags({ services }: SessionState, taxNumber: string | undefined): Markup[] {
  if (taxNumber === undefined || !services.has(taxNumberUri)) return [];
  const content = tag("taxNumber:taxNumber", {}, taxNumber);
  return [tag("taxNumber:infData", { "xmlns:taxNumber": taxNumberUri }, content)];
}
