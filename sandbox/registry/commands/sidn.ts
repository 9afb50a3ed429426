/** What SIDN's registry does by a proprietary extension: legal forms of contacts, and a special form of ids. */
import { sidnUri } from "../namespaces.ts";
import type { SessionState } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { findChild, type Markup, tag, tokenOf, type XmlElement } from "../xml.ts";

/** The values of the EPP manual, 1.4.1. */
const legalForms = new Set([
  ...["ANDERS", "BGG", "BRO", "BV", "BVI/O", "COOP", "CV", "EENMANSZAAK", "EESV", "KERK", "MAATSCHAP", "NV", "OWM"],
  ...["PERSOON", "REDR", "STICHTING", "VERENIGING", "VOF"],
]);

/** Refuses a new contact without a legal form (2003), or with an unknown one (2005). */
export function requireLegalForm(extensions: readonly XmlElement[]): void {
  const extension = extensions.find(({ uri }) => uri === sidnUri);
  const verb = extension && findChild(extension, "create");
  const contact = verb && findChild(verb, "contact");
  const form = contact && findChild(contact, "legalForm");
  if (!form) throw new Refusal(2003, "a contact needs a legal form");
  if (!legalForms.has(tokenOf(form))) throw new Refusal(2005, "there is no such legal form");
}

/** Ids have the form that the registry's own error messages name: [A-Z]{3}[0-9]{6}-[A-Z0-9]{5}. */
export const sidnContactId = (number: number): string => `SBX${String(number).padStart(6, "0")}-SAND1`;

export function sidnTags({ services }: SessionState): Markup[] {
  if (!services.has(sidnUri)) return [];
  const domain = tag("sidn:domain", {}, tag("sidn:optOut", {}, "false"), tag("sidn:limited", {}, "false"));
  return [tag("sidn:ext", { "xmlns:sidn": sidnUri }, tag("sidn:infData", {}, domain))];
}
