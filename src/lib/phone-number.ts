/** E.164 numbers, in the form of RFC 5733 §2.5: the country's code, a dot, and the rest. */

const digitsMax = 15;
/** The country codes of one and of two digits; all others have three (ITU-T E.164, annex to Operational Bulletin 1114). */
const shortCode = /^(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58])/;

/**
 * Reads `+32.25550100`, or the same number without its dot or with the usual separators.
 * @returns it with its dot; `undefined` when it is no such number
 */
export function parsePhoneNumber(text: string): string | undefined {
  if (!/^\+[0-9][0-9 ().-]*$/.test(text)) return undefined;
  const digits = text.replaceAll(/[^0-9]/g, "");
  const [, code = shortCode.exec(digits)?.[0] ?? digits.slice(0, 3)] = /^\+([0-9]{1,3})\.[0-9]+$/.exec(text) ?? [];
  const rest = digits.slice(code.length);
  const isNumber = !code.startsWith("0") && rest.length >= 3 && digits.length <= digitsMax;
  return isNumber ? `+${code}.${rest}` : undefined;
}
