/** Conditional and range requests (RFC 9110 §13, §14), as far as a static file needs them. */
import type { IncomingHttpHeaders } from "node:http";

export interface Validators {
  /** A strong entity tag, with its quotes. */
  etag: string;
  modifiedAt: Date;
}

/** Whether the client already has the file. */
export function isNotModified(headers: IncomingHttpHeaders, { etag, modifiedAt }: Validators): boolean {
  const tags = headers["if-none-match"];
  if (tags !== undefined) {
    return tags.trim() === "*" || tags.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
  }
  const since = Date.parse(headers["if-modified-since"] ?? "");
  return wholeSeconds(modifiedAt) <= since;
}

export interface ByteRange {
  from: number;
  /** Inclusive. */
  to: number;
}

/**
 * The range of a request. `undefined`: send the whole file, also for several ranges or a unit other than bytes.
 * `"unsatisfiable"`: answer 416.
 */
export function parseRange(
  headers: IncomingHttpHeaders,
  size: number,
  { etag, modifiedAt }: Validators,
): ByteRange | "unsatisfiable" | undefined {
  const condition = headers["if-range"]?.toString();
  if (condition !== undefined && condition !== etag && Date.parse(condition) !== wholeSeconds(modifiedAt)) {
    return undefined;
  }
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(headers.range ?? "") ?? [];
  if (first === "" && last === "") return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== "" && last !== "" && Number(last) < from) return undefined;
  return from >= size || to < from ? "unsatisfiable" : { from, to };
}

/** HTTP dates have no fractions. */
function wholeSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000) * 1000;
}
