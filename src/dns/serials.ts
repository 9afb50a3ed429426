/** Compares serials as RFC 1982 §3.2 does. */
export const isAtLeast = (serial: number, wanted: number): boolean => (serial - wanted) >>> 0 < 2 ** 31;
