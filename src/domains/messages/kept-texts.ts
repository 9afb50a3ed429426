/**
 * How texts of registries are stored, shown and logged: short, in one line, without secrets and personal data as far as they can be
 * seen. That holds for answers to a poll that cannot be read, too: their message must not block those behind it.
 */

import { createHash } from "node:crypto";
import { refusedValueState } from "#db/errors.ts";
import type { NewMessage } from "#domains/messages/kept-messages.ts";
import { EppUnanswered } from "#registry/epp/errors.ts";
import { hiddenText, redactText } from "#registry/epp/redaction.ts";

const textCharsMax = 1_000;
const payloadCharsMax = 64 * 1024;
const idCharsMax = 200;

/** A text for the history, a list or the log. */
export function messageText(text: string): string {
  // Cut first: redaction need not read megabytes. What the cut has halved is not a whole address or code any more.
  const line = text.slice(0, 2 * textCharsMax).replace(/[\p{C}\s]+/gu, " ");
  return redactText(line).trim().slice(0, textCharsMax);
}

/** The data of a message. @param payload already without credentials, if it is XML */
export function messagePayload(payload: string): string {
  const kept = redactText(payload.slice(0, payloadCharsMax));
  return payload.length > payloadCharsMax
    ? `${kept}… (the first ${payloadCharsMax} of ${payload.length} characters)`
    : kept;
}

/** A message's id as it is stored: PostgreSQL's keys have a limit, and a registry's ids have none. */
export function storedMessageId(id: string): string {
  if (id.length <= idCharsMax) return id;
  return `${id.slice(0, idCharsMax / 2)}…${createHash("sha256").update(id).digest("hex")}`;
}

/** The only part of the answer that is needed. It comes before the message's data (RFC 5730 §2.6). */
const queueElement = /<(?:[\w.-]{1,64}:)?msgQ(?=\s)([^<>]{0,2000})>/;
const idAttribute = /\sid\s*=\s*(?:"([^"<>&]{1,500})"|'([^'<>&]{1,500})')/;
/** What may hold a secret, or say who somebody is, in an element of any object. */
const hiddenElement =
  /(<(?:[\w.-]{1,64}:)?(?:pw|newPW|authInfo|name|org|street|city|sp|pc|voice|fax|email)(?:\s[^<>]*)?>)[^<]*/g;
const headCharsMax = 4_000;

export interface Unreadable {
  /** With which it is acknowledged. */
  id: string;
  why: string;
  head: string;
}

/** The message whose answer was malformed; undefined when its id cannot be found, or when another error is the cause. */
export function findUnreadable(error: unknown): Unreadable | undefined {
  if (!(error instanceof EppUnanswered) || error.reason !== "malformed" || !error.head) return undefined;
  const head = error.head.reveal();
  const [, attributes] = queueElement.exec(head) ?? [];
  const [, double, single] = idAttribute.exec(attributes ?? "") ?? [];
  const id = (double ?? single)?.trim();
  if (!id) return undefined;
  return { id, why: messageText(String((error.cause as Error | undefined)?.message ?? error.message)), head };
}

/** As it is kept: without what looks like a secret. */
export function keptUnreadable({ id, why, head }: Unreadable): NewMessage {
  const payload = head.slice(0, headCharsMax).replace(hiddenElement, `$1${hiddenText}`);
  return { id, kind: "unreadable", outcome: "kept", isUnexplained: true, text: `unreadable: ${why}`, payload };
}

/** Why a message that was read can never be applied; undefined when it may succeed later. */
export function describeRefusedMessage(error: unknown): string | undefined {
  const state = refusedValueState(error);
  // The database's own words quote the value.
  if (state !== undefined) return `the database refuses its values (SQLSTATE ${state})`;
  return error instanceof RangeError || error instanceof TypeError ? error.message : undefined;
}
