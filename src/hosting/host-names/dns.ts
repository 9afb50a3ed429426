/** The TXT records that prove control over host names. */

/** A TXT record at this label under a name proves control over the name. */
export const proofLabel = "_deedhouse";

/** The text of that TXT record. */
export const proofText = (proof: string) => `deedhouse-site=${proof}`;
