import type { EppCommand } from "#registry/epp/command.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import { isElement, type XmlElement } from "#registry/epp/xml/xml.ts";

/**
 * Whose secret a name's authInfo is: ours; the registry's, which ignores the one in a create, and discloses the one it chose to
 * us by the family's extension or not at all ("registry"), shows it in `<info>`, or sends it to the holder when we ask; or
 * there is none.
 */
export const authInfoPolicies = ["ours", "registry", "shown", "holder", "none"] as const;

/** The fields of a profile that a family may decide. */
export interface FlavouredFields {
  readonly contactIds?: "client" | "server";
  readonly contactPerRole?: boolean;
  readonly contactTypes?: ("admin" | "tech" | "billing")[];
  readonly hostModel?: "objects" | "attributes";
  readonly authInfo?: (typeof authInfoPolicies)[number];
  readonly infoWithoutRegistrar?: "unknown" | "ours" | "others";
  readonly secDns?: "ds" | "keys" | "none";
  readonly lockNewNames?: boolean;
  readonly transferProhibitedDays?: number;
  readonly registrantChange?: "update" | "forbidden";
  readonly renew?: "command" | "none";
  readonly expiry?: "registry" | "ours";
  readonly period?: "years" | "months" | "none";
  readonly yearsMax?: number;
}

/** The fields of a profile that it may forbid. */
export interface CheckedFields {
  readonly contactIds?: string | undefined;
  readonly contactTypes?: readonly string[] | undefined;
  readonly registrarContacts?: Readonly<Record<string, string>> | undefined;
  readonly renew?: string | undefined;
  readonly idn?: object | undefined;
}

/** A family of registries with proprietary extensions: what it adds to commands, and shows in answers. */
export interface Flavour extends Dialect {
  /** Extensions without which nothing works: of each list, the newest version first. */
  readonly extensions: readonly (readonly string[])[];
  /** What all registries of the family have in common; a profile may say otherwise. */
  readonly defaults: FlavouredFields;
  readonly graceDays: { readonly add?: number; readonly redemption?: number; readonly pendingDelete?: number };
  /** Whether the registry issues a name's auth code to us when an info asks for it (`issuedCode`). */
  readonly issuesCodes: boolean;
  /** Commands of the RFCs that the family does not have, or not from here, by `EppCommand.name`, and why in a sentence's part. */
  readonly withoutCommands: Readonly<Record<string, string>>;
  /** The statuses of names that a registrar may set (RFC 5731 §2.3). Absent: all. */
  readonly clientStatuses?: readonly string[];
  /** What in a profile does not fit the family. */
  fault(profile: CheckedFields): string | undefined;
}

/** A command whose elements of a name are replaced wherever they are. */
function rewritten<Data>(
  command: EppCommand<Data>,
  namespace: string,
  name: string,
  replace: (element: XmlElement) => XmlElement,
): EppCommand<Data> {
  return { ...command, frame: (clTRID) => replaceElements(command.frame(clTRID), namespace, name, replace) };
}

/** The addresses of contacts in the local form (RFC 5733 §2.4): ASCII is one too. */
export const withLocalAddress = <Data>(command: EppCommand<Data>): EppCommand<Data> =>
  rewritten(command, contactNamespace, "postalInfo", (element) => ({
    ...element,
    attributes: new Map([["type", "loc"]]),
  }));

/** RFC 5731 §3.2.1 and RFC 5733 §3.2.1 require an authInfo, which some registries take only without a value. */
export const withoutAuthInfo = <Data>(command: EppCommand<Data>, namespace: string): EppCommand<Data> =>
  rewritten(command, namespace, "pw", (element) => ({ ...element, children: [] }));

/** The language of a contact, if the registry has it. @param language a language tag (RFC 5646) */
export function languageIn(known: ReadonlySet<string>, language: string | undefined): string {
  const spoken = language?.split("-")[0]?.toLowerCase() ?? "";
  return known.has(spoken) ? spoken : "en";
}

/** What an extension shows of a name's state in addition to the statuses of RFC 5731 §2.3. */
export function withStatuses(info: DomainInfo, statuses: readonly string[]): DomainInfo {
  // "ok" is shown only without other statuses.
  const plain = statuses.length > 0 ? info.statuses.filter((status) => status !== "ok") : info.statuses;
  return { ...info, statuses: [...new Set([...plain, ...statuses])] };
}

/** The document with every element of a name in a namespace replaced. */
function replaceElements(
  root: XmlElement,
  namespace: string,
  name: string,
  replace: (element: XmlElement) => XmlElement,
): XmlElement {
  const children = root.children.map((child) =>
    isElement(child) ? replaceElements(child, namespace, name, replace) : child,
  );
  const copy = { ...root, children };
  return root.namespace === namespace && root.name === name ? replace(copy) : copy;
}
