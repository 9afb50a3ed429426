import type { Random } from "#lib/random.ts";

declare const orderCodeBrand: unique symbol;
/** `REG-XXXXXXXX-XXX` in upper-case Crockford base32: 55 random bits, readable over the telephone. */
export type OrderCode = string & { readonly [orderCodeBrand]: true };

/** Crockford's alphabet: no I, L, O (they read as 1, 1, 0) and no U. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeShape = /^reg-([0-9a-tv-z]{8})-([0-9a-tv-z]{3})$/i;
const symbolCount = 11;

/** A new order code. It is random; the database's unique index guarantees that it is unique. */
export function newOrderCode(random: Random): OrderCode {
  return `REG-${newSymbols(random)}` as OrderCode;
}

/** A new renewal code: `REN-XXXXXXXX-XXX`. */
export function newRenewalCode(random: Random): string {
  return `REN-${newSymbols(random)}`;
}

function newSymbols(random: Random): string {
  const symbols = Array.from(random.bytes(symbolCount), (byte) => alphabet.charAt(byte % alphabet.length)).join("");
  return `${symbols.slice(0, 8)}-${symbols.slice(8)}`;
}

/** Reads an order code in any case, with o as 0, and i and l as 1. Returns undefined when it is malformed. */
export function parseOrderCode(text: string): OrderCode | undefined {
  const [, head, tail] = codeShape.exec(text) ?? [];
  if (head === undefined || tail === undefined) return undefined;
  return `REG-${canonicalSymbols(head)}-${canonicalSymbols(tail)}` as OrderCode;
}

function canonicalSymbols(symbols: string): string {
  return symbols.toUpperCase().replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}
