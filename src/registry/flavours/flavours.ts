/** The delivered families of registries, by the name that a profile gives as its `flavour`. */
import { eurid } from "#registry/flavours/eurid.ts";
import type { Flavour } from "#registry/flavours/flavour.ts";

const flavours: Readonly<Record<string, Flavour>> = { eurid };

export const flavourNames = Object.keys(flavours);

export const flavourOf = ({ flavour }: { readonly flavour?: string | undefined }): Flavour | undefined =>
  flavour === undefined ? undefined : flavours[flavour];
