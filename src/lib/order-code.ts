import type { Random } from "#lib/random.ts";

declare const orderCodeBrand: unique symbol;
/** The kinds of orders that codes begin with: a registration, a renewal, any other change of a name. */
export type OrderPrefix = "REG" | "REN" | "CHG";

/** A prefix, and `-XXXXXXXX-XXX` in upper-case Crockford base32: 55 random bits, readable over the telephone. */
export type OrderCode = string & { readonly [orderCodeBrand]: true };

/** Crockford's alphabet: no I, L, O (they read as 1, 1, 0) and no U. */
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeShape = /^(reg|ren|chg)-([0-9a-tv-z]{8})-([0-9a-tv-z]{3})$/i;
const symbolCount = 11;

/** A new order code. It is random; the database's unique index guarantees that it is unique. */
export function newOrderCode(random: Random, prefix: OrderPrefix): OrderCode {
  const symbols = Array.from(random.bytes(symbolCount), (byte) => alphabet.charAt(byte % alphabet.length)).join("");
  return `${prefix}-${symbols.slice(0, 8)}-${symbols.slice(8)}` as OrderCode;
}

const symbolBits = 5n;

/** The 55 bits of an order code. */
export function orderNumberOf(code: string): bigint {
  const symbols = [...code.slice("REG-".length).replace("-", "")];
  return symbols.reduce((number, symbol) => (number << symbolBits) | BigInt(alphabet.indexOf(symbol)), 0n);
}

/** The order code of a number; undefined when it has more than 55 bits. */
export function orderCodeOf(prefix: OrderPrefix, number: bigint): OrderCode | undefined {
  if (number >> (symbolBits * BigInt(symbolCount))) return undefined;
  const places = Array.from({ length: symbolCount }, (_, place) => symbolBits * BigInt(symbolCount - 1 - place));
  const symbols = places.map((place) => alphabet.charAt(Number((number >> place) & 31n))).join("");
  return `${prefix}-${symbols.slice(0, 8)}-${symbols.slice(8)}` as OrderCode;
}

/**
 * Reads an order code in any case, with o as 0, and i and l as 1.
 * @param only the prefix that it must have; by default any
 * @returns undefined when it is malformed
 */
export function parseOrderCode(text: string, only?: OrderPrefix): OrderCode | undefined {
  const [, prefix = "", head = "", tail = ""] = codeShape.exec(text) ?? [];
  if (prefix === "" || (only !== undefined && prefix.toUpperCase() !== only)) return undefined;
  return `${prefix.toUpperCase()}-${canonicalSymbols(head)}-${canonicalSymbols(tail)}` as OrderCode;
}

function canonicalSymbols(symbols: string): string {
  return symbols.toUpperCase().replaceAll("O", "0").replaceAll(/[IL]/g, "1");
}
