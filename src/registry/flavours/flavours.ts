/** The delivered families of registries, by the name that a profile gives as its `flavour`. */
import { dnsbe } from "#registry/flavours/dnsbe.ts";
import { eurid } from "#registry/flavours/eurid.ts";
import type { Flavour } from "#registry/flavours/flavour.ts";
import { sidn } from "#registry/flavours/sidn.ts";

const flavours: Readonly<Record<string, Flavour>> = { eurid, dnsbe, sidn };

export const flavourNames = Object.keys(flavours);

export const flavourOf = ({ flavour }: { readonly flavour?: string | undefined }): Flavour | undefined =>
  flavour === undefined ? undefined : flavours[flavour];
