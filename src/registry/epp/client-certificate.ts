import { X509Certificate } from "node:crypto";

/** From so many days before its end on, somebody should see to a new one; in its last days at once. */
const endsSoonDays = 30;
const lastDays = 7;
const dayMs = 86_400_000;

export interface CertificateTrouble {
  /** What an operator should know of it, beginning with "our client certificate …". */
  readonly sentence: string;
  /** Whether a registry is right to refuse it now. */
  readonly isInvalid: boolean;
  /** Whether there is no time left to lose. */
  readonly isUrgent: boolean;
}

/** What is wrong with our client certificate, or soon will be. @param pem of several certificates, the first is ours */
export function findCertificateTrouble(pem: string | undefined, now: Date): CertificateTrouble | undefined {
  if (pem === undefined) return undefined;
  const { validFromDate: from, validToDate: until } = new X509Certificate(pem);
  const trouble = (what: string, isInvalid: boolean, isUrgent: boolean) => ({
    sentence: `our client certificate ${what}`,
    isInvalid,
    isUrgent,
  });
  if (now < from) return trouble(`is not valid before ${from.toISOString()}`, true, true);
  if (now > until) return trouble(`has ended on ${until.toISOString()}`, true, true);
  const leftDays = (until.getTime() - now.getTime()) / dayMs;
  if (leftDays > endsSoonDays) return undefined;
  return trouble(`ends on ${until.toISOString()}`, false, leftDays <= lastDays);
}
