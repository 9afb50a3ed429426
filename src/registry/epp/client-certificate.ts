import { X509Certificate } from "node:crypto";

/** An operator should renew it this many days before it expires; in its last days, at once. */
const endsSoonDays = 30;
const lastDays = 7;
const dayMs = 86_400_000;

export interface CertificateProblem {
  /** For operators; begins with "our client certificate …". */
  readonly sentence: string;
  /** Whether it is expired or not valid yet, so that a registry may refuse it. */
  readonly isInvalid: boolean;
  /** Whether it must be replaced at once. */
  readonly isUrgent: boolean;
}

/** The problem with our client certificate, now or soon. @param pem the first of its certificates is ours */
export function findCertificateProblem(pem: string | undefined, now: Date): CertificateProblem | undefined {
  if (pem === undefined) return undefined;
  const { validFromDate: from, validToDate: until } = new X509Certificate(pem);
  const problem = (what: string, isInvalid: boolean, isUrgent: boolean) => ({
    sentence: `our client certificate ${what}`,
    isInvalid,
    isUrgent,
  });
  if (now < from) return problem(`is not valid before ${from.toISOString()}`, true, true);
  if (now > until) return problem(`expired on ${until.toISOString()}`, true, true);
  const leftDays = (until.getTime() - now.getTime()) / dayMs;
  if (leftDays > endsSoonDays) return undefined;
  return problem(`expires on ${until.toISOString()}`, false, leftDays <= lastDays);
}
