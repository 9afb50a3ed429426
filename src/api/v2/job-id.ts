/**
 * The ids of provisioning jobs: UUIDs that name the order or the account, so that nothing more has to be stored. RFC 9562
 * section 5.8 leaves the contents of version 8 to the application: byte 0 is the kind, and the last seven bytes are an order
 * code's 55 bits or an account's number. All other bits are those of the version and the variant.
 */
import { type OrderCode, orderCodeOf, orderNumberOf } from "#lib/order-code.ts";

const kindBytes = { registration: "01", account: "02" } as const;
const jobShape = /^(0[12])000000-0000-8000-80([0-9a-f]{2})-([0-9a-f]{12})$/;

export type Job = { kind: "registration"; code: OrderCode } | { kind: "account"; accountId: number };

const jobId = (kind: keyof typeof kindBytes, number: bigint): string => {
  const digits = number.toString(16).padStart(14, "0");
  return `${kindBytes[kind]}000000-0000-8000-80${digits.slice(0, 2)}-${digits.slice(2)}`;
};

export const registrationJobId = (code: string): string => jobId("registration", orderNumberOf(code));
export const accountJobId = (accountId: number): string => jobId("account", BigInt(accountId));

/** @param text in lower case @returns undefined for what is no id of a job */
export function parseJobId(text: string): Job | undefined {
  const [, kind, head, tail] = jobShape.exec(text) ?? [];
  if (kind === undefined) return undefined;
  const number = BigInt(`0x${head}${tail}`);
  if (kind === kindBytes.account) {
    const accountId = Number(number);
    return Number.isSafeInteger(accountId) ? { kind: "account", accountId } : undefined;
  }
  const code = orderCodeOf("REG", number);
  return code && { kind: "registration", code };
}
