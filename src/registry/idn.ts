import type { RegistryEntry, RegistryProfile } from "#registry/registries.ts";

/** Every registry allows LDH labels (RFC 5890 §2.3.1). */
const everywhere = /^[a-z0-9-]$/;

/**
 * Checks a label against the profile's `idn` table: registries publish, per suffix, the code points that they accept, and
 * refuse all others at create. The operator chooses which ranges to combine: a table of one script excludes look-alikes of
 * another.
 * @param suffix as in the profile, e.g. "com" @param uLabel in Unicode, already valid under IDNA2008
 * @returns undefined when the label may be registered, or else what is wrong as the end of a sentence that begins with
 * "the name"
 */
export function refusalOfLabel(
  profile: Pick<RegistryProfile, "idn">,
  suffix: string,
  uLabel: string,
): string | undefined {
  const allowed = profile.idn[suffix] ?? [];
  const isAllowed = (codePoint: number) => allowed.some((range) => isInRange(range, codePoint));
  for (const character of uLabel) {
    const codePoint = character.codePointAt(0) ?? 0;
    if (everywhere.test(character) || isAllowed(codePoint)) continue;
    if (allowed.length === 0) return `has letters other than a to z, which the registry of .${suffix} does not accept`;
    const name = `U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}`;
    return `has the character ${name}, which the registry of .${suffix} does not accept`;
  }
  return undefined;
}

/** What is wrong with the profile's field, as a sentence that begins with its name. */
export function idnFault({ idn = {}, suffixes }: Pick<RegistryEntry, "idn" | "suffixes">): string | undefined {
  const unsold = Object.keys(idn).find((candidate) => !suffixes.includes(candidate));
  if (unsold !== undefined) return `idn names ${unsold}, which is not one of its suffixes`;
  const backward = Object.values(idn).flatMap((ranges) => ranges.filter(isBackward))[0];
  return backward === undefined ? undefined : `idn has the range ${backward}, which ends before it begins`;
}

function isBackward(range: string): boolean {
  const [first = "", last = first] = range.split("-");
  return Number.parseInt(first, 16) > Number.parseInt(last, 16);
}

/** @param range one code point or the first and the last of several, hexadecimal: "00DF", "00E0-00F6" */
function isInRange(range: string, codePoint: number): boolean {
  const [first = "", last = first] = range.split("-");
  return codePoint >= Number.parseInt(first, 16) && codePoint <= Number.parseInt(last, 16);
}
