/**
 * Reads a request's target. One signature fits every spelling of a target that differs in the case of ASCII letters and
 * in escapes (signature.ts), so all of them must mean the same: everything is read decoded and in lower case.
 */
import { decodeEscapes, lowerCaseAscii } from "#api/signing/signature.ts";

export interface Target {
  /** Split at `/` before decoding, so `%2F` never separates. */
  segments: string[];
  query: URLSearchParams;
}

/** Nearly every target has no query and reads the same decoded and in lower case. */
const plainPath = /^[a-z0-9/._~-]*$/;
const noParameters = new URLSearchParams();

/** @param target path and query, as `parseTarget` returns them */
export function readTarget(target: string): Target {
  if (plainPath.test(target)) return { segments: target.split("/").slice(1), query: noParameters };
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const parameters = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(query)) parameters.append(readText(name), readText(value));
  return { segments: path.split("/").slice(1).map(readSegment), query: parameters };
}

/** A NUL, which PostgreSQL's texts cannot have, becomes U+FFFD, which no name contains. */
const readText = (text: string) => lowerCaseAscii(text).replaceAll("\0", "\uFFFD");

/** Bytes that are not UTF-8 become U+FFFD; a malformed escape stays, which no name contains either. */
function readSegment(segment: string): string {
  const isPlain = !/[%+]/.test(segment);
  return readText(isPlain ? segment : Buffer.from(decodeEscapes(segment), "latin1").toString("utf8"));
}
