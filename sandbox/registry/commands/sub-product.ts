import type { ParsedFrame } from "../command.ts";
import { eppUri, namestoreUri } from "../namespaces.ts";
import { Refusal } from "../result-codes.ts";
import type { Settings } from "../settings.ts";
import { findChild, tokenOf } from "../xml.ts";

/** Where `extensions` has namestoreExt, every command about an object names the product: 2003 without, 2306 for another one. */
export function requireSubProduct({ extensions, subProduct }: Settings, frame: ParsedFrame): void {
  if (!extensions.includes("namestoreExt") || frame.element?.uri === eppUri) return;
  const namestore = frame.extensions.find(({ uri }) => uri === namestoreUri);
  const named = namestore && findChild(namestore, "subProduct");
  if (!named) throw new Refusal(2003, "the command names no sub-product");
  if (tokenOf(named) !== subProduct) throw new Refusal(2306, "there is no such sub-product");
}
