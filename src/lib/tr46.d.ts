/** The part of tr46 6.0.0 (UTS #46, Unicode 17) that we use: the package includes no types. */
declare module "tr46" {
  interface Checks {
    checkHyphens?: boolean;
    checkBidi?: boolean;
    checkJoiners?: boolean;
    useSTD3ASCIIRules?: boolean;
    verifyDNSLength?: boolean;
    transitionalProcessing?: boolean;
  }
  /** The name in A-labels, or null when any check fails. */
  export function toASCII(domainName: string, checks?: Checks): string | null;
  /** The name in U-labels, as far as it could be decoded, and whether any check failed. */
  export function toUnicode(
    domainName: string,
    checks?: Omit<Checks, "verifyDNSLength">,
  ): { domain: string; error: boolean };
}
