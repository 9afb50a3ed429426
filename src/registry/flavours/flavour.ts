import type { Dialect } from "#registry/epp/dialect.ts";
import { isElement, type XmlElement } from "#registry/epp/xml/xml.ts";

/**
 * Whose secret a name's authInfo is: ours; the registry's, which ignores the one in a create, and gives its own to us by the family's
 * extension or not at all ("registry"), shows it in `<info>`, or sends it to the holder when we ask; or there is none.
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
}

/** The fields of a profile that it may forbid. */
export interface CheckedFields {
  readonly contactIds?: string | undefined;
  readonly contactTypes?: readonly string[] | undefined;
  readonly idn?: object | undefined;
}

/** A family of registries with extensions of its own: what it adds to commands, and shows in answers. */
export interface Flavour extends Dialect {
  /** Extensions without which nothing works: of each list, the newest version first. */
  readonly extensions: readonly (readonly string[])[];
  /** What all registries of the family have in common; a profile may say otherwise. */
  readonly defaults: FlavouredFields;
  readonly graceDays: { readonly add?: number; readonly redemption?: number; readonly pendingDelete?: number };
  /** Whether the registry issues a name's auth code to us when an info asks for it (`issuedCode`). */
  readonly issuesCodes: boolean;
  /** What in a profile does not fit the family. */
  fault(profile: CheckedFields): string | undefined;
}

/** The document with every element of a name in a namespace replaced. */
export function replaceElements(
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
