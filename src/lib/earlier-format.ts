/** Databases and data folders from before 0.1.0 whose format is no longer read. They are refused, and stay as they are. */

/** The last commit that reads them; docs/operating.md also names it. */
export const lastCommitWithEarlierFormats = "ecc6d4075d";

/**
 * What to do about one of them.
 * @param found a sentence without its end: what has which format
 * @param instead what to use in its place
 */
export function earlierFormat(found: string, instead: string): string {
  return `${found} from before 0.1.0: ${instead}, or use commit ${lastCommitWithEarlierFormats}, the last one that reads it.`;
}
